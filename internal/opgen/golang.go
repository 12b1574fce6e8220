package main

import (
	"bytes"
	"fmt"
	"strings"
)

// goTypes are the Go parameter types of the argument kinds. An optional number is nil when absent.
var goTypes = map[string]string{"array": "*Array", "array?": "*Array", "arrays": "[]*Array", "operand": "any", "int": "int", "int?": "any",
	"float": "float64", "float?": "any", "bool": "bool", "string": "string", "ints": "[]int", "shape": "[]int", "dtype": "Dtype",
	"dtype?": "*Dtype", "uint64": "uint64"}

func (a arg) goType() string {
	t := goTypes[a.kind]
	if a.variadic {
		t = "..." + strings.TrimPrefix(t, "[]")
	}
	return t
}

// prepare is the expression that turns the Go argument into the native one.
func (a arg) prepare() string {
	switch a.kind {
	case "array":
		return fmt.Sprintf("c.array(%s)", a.name)
	case "array?":
		return fmt.Sprintf("c.optional(%s)", a.name)
	case "arrays":
		return fmt.Sprintf("c.arrays(%s)", a.name)
	case "float":
		return fmt.Sprintf("C.double(%s)", a.name)
	case "bool":
		return fmt.Sprintf("C.bool(%s)", a.name)
	case "uint64":
		return fmt.Sprintf("C.uint64_t(%s)", a.name)
	case "string":
		return fmt.Sprintf("cString(%s)", a.name)
	case "dtype":
		return fmt.Sprintf("c.dtype(%s)", a.name)
	case "dtype?":
		return fmt.Sprintf("c.optionalDtype(%s)", a.name)
	case "int?", "float?", "operand":
		return fmt.Sprintf("c.operand(%q, %s)", a.name, a.name)
	}
	return fmt.Sprintf("c.%s(%q, %s)", a.kind, a.name, a.name)
}

func goSource(ops []op) []byte {
	var b bytes.Buffer
	b.WriteString(generated)
	b.WriteString("\npackage mlx\n\n// #include \"ops_gen.h\"\n")
	for _, row := range ops {
		for _, o := range row.variants() {
			fmt.Fprintf(&b, "// #cgo noescape %s\n// #cgo nocallback %s\n", o.native(), o.native())
		}
	}
	b.WriteString("import \"C\"\n")
	for _, row := range ops {
		for _, o := range row.variants() {
			o.writeGo(&b)
		}
	}
	return b.Bytes()
}

func (o op) writeGo(b *bytes.Buffer) {
	exported := o.name[0] >= 'A' && o.name[0] <= 'Z'
	var params, names []string
	for _, a := range o.args {
		params = append(params, a.name+" "+a.goType())
		name := a.name
		if a.variadic {
			name += "..."
		}
		names = append(names, name)
	}
	list, pass := strings.Join(params, ", "), strings.Join(names, ", ")
	result := "*Array"
	if o.count != "" {
		result = "[]*Array"
	} else if len(o.results) > 0 {
		result = "(" + strings.Join(o.results, ", ") + " *Array)"
	}
	doc := o.documentation()
	if exported {
		switch {
		case o.kind == "binary":
			fmt.Fprintf(b, "\n%sfunc (a *Array) %s(b any) *Array { return Ops{}.%s(a, b) }\n", doc, o.name, o.name)
			fmt.Fprintf(b, "\n// %s is [Array.%s] with a scalar or an array on either side.\nfunc %s(%s) *Array { return Ops{}.%s(%s) }\n",
				o.name, o.name, o.name, list, o.name, pass)
		case o.isMethod():
			fmt.Fprintf(b, "\n%sfunc (a *Array) %s(%s) %s { return Ops{}.%s(%s) }\n", doc, o.name, list, result, o.name, join("a", pass))
		default:
			fmt.Fprintf(b, "\n%sfunc %s(%s) %s { return Ops{}.%s(%s) }\n", doc, o.name, list, result, o.name, pass)
		}
	}
	if o.isMethod() {
		list = join("a *Array", list)
		fmt.Fprintf(b, "\n// %s is [Array.%s] on the stream.\n", o.name, o.name)
	} else {
		fmt.Fprintf(b, "\n// %s is [%s] on the stream.\n", o.name, o.name)
	}
	fmt.Fprintf(b, "func (o Ops) %s(%s) %s {\n\tvar c call\n\tc.begin(%q, o.stream)\n", o.name, list, result, strings.ToLower(o.name))
	var native []string
	for _, a := range o.nativeArgs() {
		fmt.Fprintf(b, "\t%sC := %s\n", a.name, a.prepare())
		native = append(native, a.name+"C")
	}
	call := fmt.Sprintf("C.%s(%s)", o.native(), strings.Join(append(native, "c.stream"), ", "))
	if !o.many() {
		fmt.Fprintf(b, "\tif c.err != nil {\n\t\treturn c.broken()\n\t}\n\treturn c.end(%s)\n}\n", call)
		return
	}
	back := func(list string) string {
		if o.count != "" {
			return "return " + list
		}
		var parts []string
		for i := range o.results {
			parts = append(parts, fmt.Sprintf("out[%d]", i))
		}
		return fmt.Sprintf("out := %s\n\t\treturn %s", list, strings.Join(parts, ", "))
	}
	count := o.count
	if count == "" {
		count = fmt.Sprint(len(o.results))
	}
	fmt.Fprintf(b, "\tif c.err == nil {\n\t\tres := %s\n\t\tif res.err.message == nil {\n\t\t%s\n\t\t}\n\t\tc.native(res.err)\n\t}\n\tc.unlock()\n\t%s\n}\n",
		call, back("c.endMany(res)"), back("c.brokenMany("+count+")"))
}

func (o op) documentation() string {
	return "// " + o.name + " " + strings.Join(o.doc, "\n// ") + "\n"
}

func join(first, rest string) string {
	if rest == "" {
		return first
	}
	return first + ", " + rest
}
