package mlxdist

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var treeForFlags = Tree{Dir: "/c/mlx", Include: "/c/mlx/include", Lib: "/c/mlx/lib", Library: "/c/mlx/lib/libmlx.so"}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		link Link
		want []string
	}{
		{Link{GOOS: "linux"}, []string{"-L/c/mlx/lib", "-Wl,-rpath,/c/mlx/lib"}},
		{
			Link{GOOS: "linux", OpenBLAS: true},
			[]string{"-Wl,--no-as-needed", "-l:libopenblas.so.0", "-Wl,--as-needed", "-L/c/mlx/lib", "-Wl,-rpath,/c/mlx/lib"},
		},
		{Link{GOOS: "linux", CUDA: true}, []string{"-Wl,--unresolved-symbols=ignore-in-shared-libs", "-L/c/mlx/lib", "-Wl,-rpath,/c/mlx/lib"}},
		{Link{GOOS: "linux", Bundle: true}, []string{"-L/c/mlx/lib", "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/mlx/lib"}},
		{Link{GOOS: "darwin", Bundle: true}, []string{"-L/c/mlx/lib", "-Wl,-rpath,@executable_path/mlx/lib"}},
	} {
		f, err := treeForFlags.Flags(c.link)
		require.NoError(t, err)
		assert.Equal(t, []string{"-I/c/mlx/include"}, f.CPP)
		assert.Equal(t, c.want, f.LD, "%+v", c.link)

		// Whatever was printed can be taken out again, and the user's own flags stay.
		merged, err := MergeFlags("-O2 -g -L/mine", f.LD, "/c")
		require.NoError(t, err)
		again, err := MergeFlags(merged, f.LD, "/c")
		require.NoError(t, err)
		assert.Equal(t, merged, again)
		stripped, err := StripFlags(merged, "/c")
		require.NoError(t, err)
		assert.Equal(t, "-O2 -g -L/mine", stripped)
	}
}

func TestFlagsWithPathsThatTheLinkerCannotTake(t *testing.T) {
	for _, path := range []string{"/a,b", "/a:b", "/a\nb"} {
		_, err := Tree{Include: path, Lib: path}.Flags(Link{GOOS: "linux"})
		assert.ErrorContains(t, err, CacheEnv, "%q", path)
	}
}

func TestMergeReplacesEarlierSetUps(t *testing.T) {
	other := t.TempDir() // an MLX that was named with -from
	writeFiles(t, other, map[string]string{"include/mlx/version.h": "", "lib/libmlx.so": ""})
	f, err := treeForFlags.Flags(Link{GOOS: "linux"})
	require.NoError(t, err)
	got, err := MergeFlags("-g -L/c/0.1/lib -Wl,-rpath,/c/0.1/lib -L"+filepath.Join(other, "lib")+" -Wl,-rpath,/elsewhere", f.LD, "/c")
	require.NoError(t, err)
	assert.Equal(t, "-g -Wl,-rpath,/elsewhere -L/c/mlx/lib -Wl,-rpath,/c/mlx/lib", got)
	got, err = MergeFlags("-I"+filepath.Join(other, "include")+" -I/cc -I/c/old/include -DX", f.CPP, "/c")
	require.NoError(t, err)
	assert.Equal(t, "-I/cc -DX -I/c/mlx/include", got)
	got, err = StripFlags("-Wl,--no-as-needed -lfoo -Wl,--as-needed", "/c")
	require.NoError(t, err)
	assert.Equal(t, "-Wl,--no-as-needed -lfoo -Wl,--as-needed", got, "only the group with OpenBLAS in it is ours")
}

func TestQuoting(t *testing.T) {
	for text, fields := range map[string][]string{
		"":                            nil,
		"-O2 -g":                      {"-O2", "-g"},
		`'-I/a b' -DX`:                {"-I/a b", "-DX"},
		`"-I/it's"`:                   {"-I/it's"},
		`'-DX="y"' ''`:                {`-DX="y"`, ""},
		`-Wl,-rpath,$ORIGIN/mlx/lib`:  {"-Wl,-rpath,$ORIGIN/mlx/lib"},
		"'-Da\tb'":                    {"-Da\tb"},
		`-Wl,--defsym=a=b '-L/c d/e'`: {"-Wl,--defsym=a=b", "-L/c d/e"},
	} {
		got, err := splitFlags(text)
		require.NoError(t, err, text)
		assert.Equal(t, fields, got, text)
		joined, err := joinFlags(fields)
		require.NoError(t, err, text)
		assert.Equal(t, text, joined)
	}
	_, err := splitFlags("-O2 '-I/a b")
	assert.ErrorContains(t, err, "unterminated")
	_, err = MergeFlags(`"open`, nil, "/c")
	assert.ErrorContains(t, err, "unterminated")
	_, err = joinFlags([]string{`both ' and "`})
	assert.ErrorContains(t, err, "both kinds of quotes")
}

func TestShellQuoteSurvivesTheShell(t *testing.T) {
	for _, s := range []string{"", "plain", "a b", "it's", `"$HOME" $(x) \ *`, "$ORIGIN/mlx/lib", "''", "a\nb"} {
		out, err := exec.Command("sh", "-c", "printf %s "+ShellQuote(s)).Output()
		require.NoError(t, err)
		assert.Equal(t, s, string(out))
	}
}
