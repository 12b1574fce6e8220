package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// corpus is the text as numbers of characters, one part to train on and one that training never sees.
type corpus struct {
	source         string
	files          int
	vocabulary     []rune // the characters by number; number 0 stands for all rare ones
	train, heldOut []int32
}

// other stands for all characters that are too rare to have a number of their own.
const other = '\uFFFD'

// readCorpus reads the text of a file, of the files in a folder, or, for an empty path, of the Go
// standard library. At most limit bytes are taken, from files all over the folder.
func readCorpus(path string, limit int) (*corpus, error) {
	source := path
	pattern := func(string) bool { return true }
	if path == "" {
		root, err := goRoot()
		if err != nil {
			return nil, err
		}
		path, source = filepath.Join(root, "src"), "the Go standard library ("+runtime.Version()+")"
		pattern = isLibrarySource
	}
	texts, err := readTexts(path, pattern, limit)
	if err != nil {
		return nil, fmt.Errorf("text %s: %w", path, err)
	}
	c := &corpus{source: source, files: len(texts)}
	train, heldOut := splitTexts(texts)
	c.vocabulary = vocabularyOf(train)
	c.train, c.heldOut = c.encode(shufflePieces(train, pieceLength)), c.encode(heldOut)
	const least = 2000
	if len(c.train) < least || len(c.heldOut) < least/10 {
		return nil, fmt.Errorf("text %s: %d characters are too few; at least %d are needed", path, len(c.train)+len(c.heldOut), least)
	}
	return c, nil
}

// goRoot finds the Go installation: that of the go command, else the one that built this program.
func goRoot() (string, error) {
	candidates := []string{os.Getenv("GOROOT")}
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(out)))
	}
	for _, dir := range append(candidates, "/usr/local/go", "/usr/lib/go") {
		if _, err := os.Stat(filepath.Join(dir, "src", "fmt", "print.go")); dir != "" && err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no Go installation found for its source text: put go into PATH, set GOROOT, or name a text with -text")
}

func isLibrarySource(path string) bool {
	for _, part := range []string{"_test.go", string(filepath.Separator) + "testdata" + string(filepath.Separator),
		string(filepath.Separator) + "vendor" + string(filepath.Separator), string(filepath.Separator) + "cmd" + string(filepath.Separator)} {
		if strings.Contains(path, part) {
			return false
		}
	}
	return strings.HasSuffix(path, ".go")
}

// readTexts reads the files that hold text, in an order that mixes folders and is the same in every run.
func readTexts(path string, wanted func(string) bool, limit int) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && (p == path || wanted(p)) {
			paths = append(paths, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	var texts []string
	total := 0
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) || isGenerated(data) {
			continue
		}
		texts = append(texts, string(data))
		if total += len(data); total >= limit {
			break
		}
	}
	if len(texts) == 0 {
		return nil, errors.New("no text in it")
	}
	return texts, nil
}

// isGenerated tells whether a program wrote the Go file: tables of numbers teach a model of text nothing.
func isGenerated(data []byte) bool {
	head, _, _ := bytes.Cut(data, []byte("\npackage "))
	return len(head) < len(data) && bytes.Contains(head, []byte("DO NOT EDIT"))
}

// splitTexts holds every tenth file out, or the last tenth of a single one.
func splitTexts(texts []string) (train, heldOut string) {
	if len(texts) < 10 {
		all := strings.Join(texts, "\n")
		at := len(all) / 10 * 9
		for at < len(all) && !utf8.RuneStart(all[at]) {
			at++
		}
		return all[:at], all[at:]
	}
	var a, b strings.Builder
	for i, t := range texts {
		if i%10 == 9 {
			b.WriteString(t)
		} else {
			a.WriteString(t)
		}
	}
	return a.String(), b.String()
}

// pieceLength is how many characters of a file stay together in training, roughly.
const pieceLength = 4000

// shufflePieces cuts a text at line ends and mixes the pieces. A row that reads one long file through many steps would
// make the model learn that file's words and forget them again.
func shufflePieces(text string, length int) string {
	var pieces []string
	for len(text) > length {
		at := length + strings.IndexByte(text[length:], '\n') + 1
		if at == length {
			break
		}
		pieces = append(pieces, text[:at])
		text = text[at:]
	}
	pieces = append(pieces, text)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	return strings.Join(pieces, "")
}

// vocabularyOf numbers the characters that make up at least one in a hundred thousand.
func vocabularyOf(text string) []rune {
	counts := map[rune]int{}
	total := 0
	for _, r := range text {
		counts[r]++
		total++
	}
	var frequent []rune
	for r, n := range counts {
		if n*100_000 >= total && r != other {
			frequent = append(frequent, r)
		}
	}
	slices.Sort(frequent)
	return append([]rune{other}, frequent...)
}

func (c *corpus) encode(text string) []int32 {
	numbers := make(map[rune]int32, len(c.vocabulary))
	for i, r := range c.vocabulary {
		numbers[r] = int32(i)
	}
	ids := make([]int32, 0, len(text))
	for _, r := range text {
		ids = append(ids, numbers[r])
	}
	return ids
}

func (c *corpus) decode(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteRune(c.vocabulary[id])
	}
	return b.String()
}
