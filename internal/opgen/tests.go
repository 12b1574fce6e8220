package main

import (
	"bytes"
	"fmt"
	"go/format"
)

// testSource makes the table by which the tests run every operation by its name: on arguments read from
// a file of vectors, on numbers disturbed a little, on nonsense.
func testSource(ops []op) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generated)
	b.WriteString("\npackage mlx\n\n// opTable has every operation by its Go name.\nvar opTable = map[string]testedOp{\n")
	for _, row := range ops {
		for _, o := range row.variants() {
			o.writeTested(&b)
		}
	}
	b.WriteString("}\n")
	return format.Source(b.Bytes())
}

func (o op) writeTested(b *bytes.Buffer) {
	call, args := "o."+o.name+"(", ""
	for i, a := range o.nativeArgs() {
		if i > 0 {
			call += ", "
		}
		call += fmt.Sprintf("v.%s(%q)", testGetter(a), a.name)
		if a.variadic {
			call += "..."
		}
		args += fmt.Sprintf("{%q, %q}, ", a.name, a.kind)
	}
	call += ")"
	switch {
	case o.count != "":
	case len(o.results) > 0:
		call = "listOf(" + call + ")"
	default:
		call = "[]*Array{" + call + "}"
	}
	fmt.Fprintf(b, "%q: {args: []testedArg{%s},\nrun: func(o Ops, v vectorArgs) []*Array { return %s }},\n", o.name, args, call)
}

func testGetter(a arg) string {
	switch a.kind {
	case "array?":
		return "optionalArray"
	case "operand", "int?", "float?":
		return "operand"
	case "ints", "shape":
		return "ints"
	case "dtype?":
		return "optionalDtype"
	}
	return a.kind
}
