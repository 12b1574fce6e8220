// Command opgen makes the repetitive part of package mlx from its table of operations: Go methods
// and functions, their C declarations and C++ definitions.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
)

func main() {
	table := flag.String("table", "ops.txt", "the table of operations")
	out := flag.String("out", ".", "the folder of the generated files")
	flag.Parse()
	if err := run(*table, *out); err != nil {
		fmt.Fprintln(os.Stderr, "opgen:", err)
		os.Exit(1)
	}
}

func run(table, out string) error {
	text, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	ops, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	source, err := format.Source(goSource(ops))
	if err != nil {
		return fmt.Errorf("generated Go: %w", err)
	}
	tests, err := testSource(ops)
	if err != nil {
		return fmt.Errorf("generated test table: %w", err)
	}
	for name, content := range map[string][]byte{
		"ops_gen.go": source, "ops_gen.h": cHeader(ops), "ops_gen.cpp": cppSource(ops), "ops_gen_test.go": tests,
	} {
		path := filepath.Join(out, name)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			continue
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
