package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// op is one native function and the Go names made from it.
type op struct {
	kind    string // method, func, binary, reduce
	name    string // Go's name
	args    []arg  // without the receiver
	results []string
	count   string // Go expression of the number of results, for a list
	expr    string // C++
	doc     []string
	line    int // in the table
}

type arg struct {
	name, kind string
	variadic   bool
}

var (
	fullRow  = regexp.MustCompile(`^(method|func) (\w+)\((.*?)\)(?: \(([\w, ]+)\)| arrays\[(.+?)\])? = (.+)$`)
	shortRow = regexp.MustCompile(`^(binary|reduce) (\w+) = (\w+)$`)
)

var argKinds = map[string]bool{"array": true, "array?": true, "arrays": true, "operand": true, "int": true, "int?": true, "float": true, "float?": true,
	"bool": true, "string": true, "ints": true, "shape": true, "dtype": true, "dtype?": true, "uint64": true}

func parse(text string) ([]op, error) {
	var ops []op
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case line[0] == '\t' || line[0] == ' ':
			if len(ops) == 0 {
				return nil, fmt.Errorf("line %d: documentation without an operation", i+1)
			}
			last := &ops[len(ops)-1]
			last.doc = append(last.doc, strings.TrimSpace(line))
		default:
			o, err := parseRow(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			o.line = i + 1
			for _, v := range o.variants() {
				if seen[v.name] {
					return nil, fmt.Errorf("line %d: %s stands twice", o.line, v.name)
				}
				seen[v.name] = true
			}
			ops = append(ops, o)
		}
	}
	for _, o := range ops {
		if len(o.doc) == 0 {
			return nil, fmt.Errorf("line %d: %s has no documentation", o.line, o.name)
		}
	}
	return ops, nil
}

func parseRow(line string) (op, error) {
	if m := shortRow.FindStringSubmatch(line); m != nil {
		return op{kind: m[1], name: m[2], expr: m[3]}, nil
	}
	m := fullRow.FindStringSubmatch(line)
	if m == nil {
		return op{}, fmt.Errorf("not a row of the table: %q", line)
	}
	o := op{kind: m[1], name: m[2], count: m[5], expr: m[6]}
	if m[4] != "" {
		o.results = splitList(m[4])
	}
	for _, part := range splitList(m[3]) {
		name, kind, ok := strings.Cut(part, " ")
		kind, variadic := strings.CutPrefix(strings.TrimSpace(kind), "...")
		if !ok || !argKinds[kind] {
			return op{}, fmt.Errorf("%s: not an argument: %q", o.name, part)
		}
		o.args = append(o.args, arg{name: name, kind: kind, variadic: variadic})
	}
	return o, o.checkArguments()
}

// taken are the names that the generated code gives to something else.
var taken = map[string]bool{"a": true, "c": true, "o": true, "s": true, "res": true, "out": true}

func (o op) checkArguments() error {
	seen := map[string]bool{}
	for i, a := range o.args {
		switch {
		case seen[a.name]:
			return fmt.Errorf("%s has two arguments called %s", o.name, a.name)
		case taken[a.name] && (a.name != "a" || o.kind == "method"):
			return fmt.Errorf("%s: the name %s is taken", o.name, a.name)
		case a.variadic && (i+1 < len(o.args) || !strings.HasPrefix(goTypes[a.kind], "[]")):
			return fmt.Errorf("%s: only a list at the end can be variadic: %s", o.name, a.name)
		}
		seen[a.name] = true
	}
	return nil
}

func splitList(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// variants gives the native functions of a row: most have one, a reduction has two.
func (o op) variants() []op {
	axes := arg{name: "axes", kind: "ints", variadic: true}
	switch o.kind {
	case "binary":
		o.args = []arg{{name: "x", kind: "operand"}, {name: "y", kind: "operand"}}
		o.expr = fmt.Sprintf("pairwise(x, y, [&](auto& a, auto& b) { return %s(a, b, s); })", o.expr)
		return []op{o}
	case "reduce":
		function, keep := o.expr, o
		o.args = []arg{axes}
		o.expr = reduction(function, "false")
		keep.args = o.args
		keep.name += "KeepDims"
		keep.expr = reduction(function, "true")
		keep.doc = []string{fmt.Sprintf("is [Array.%s] with the reduced axes kept as axes of size 1.", o.name)}
		return []op{o, keep}
	}
	return []op{o}
}

func reduction(function, keep string) string {
	return fmt.Sprintf("axes.empty() ? %s(a, %s, s) : %s(a, axes, %s, s)", function, keep, function, keep)
}

// words are names that capitals do not divide.
var words = strings.NewReplacer("NaN", "Nan", "RoPE", "Rope")

// snake gives the native name: "AddMM" becomes "add_mm".
func snake(name string) string {
	var b strings.Builder
	runes := []rune(words.Replace(name))
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 {
			prevLower := !unicode.IsUpper(runes[i-1])
			nextLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if prevLower || nextLower {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
