package nn

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode"

	"github.com/mpsrnn/mpsrnn/mlx"
)

var arrayType = reflect.TypeFor[*mlx.Array]()

// field is one field of a module's struct type that can hold parameters.
type field struct {
	index   int
	name    string
	flatten bool // an embedded struct without a name of its own
	frozen  bool
}

type plan struct {
	fields []field
	err    error
}

// plans keeps the plan of each struct type that was met, since a training step asks for it each time.
var plans sync.Map // reflect.Type to *plan

func planOf(t reflect.Type) ([]field, error) {
	if p, ok := plans.Load(t); ok {
		return p.(*plan).fields, p.(*plan).err
	}
	p := new(plan)
	p.fields, p.err = makePlan(t)
	plans.Store(t, p)
	return p.fields, p.err
}

func makePlan(t reflect.Type) ([]field, error) {
	var fields []field
	owner := make(map[string]string)
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("mlx")
		if tag == "-" {
			continue
		}
		fault := func(format string, args ...any) error {
			return fmt.Errorf("field %v.%s: %s", t, f.Name, fmt.Sprintf(format, args...))
		}
		name, frozen, err := parseTag(tag)
		if err != nil {
			return nil, fault("tag `mlx:%q`: %v", tag, err)
		}
		embedded := f.Anonymous && isStruct(f.Type)
		if !f.IsExported() && !embedded {
			if tagged {
				return nil, fault("the tag `mlx:%q` has no effect, since the field is not exported", tag)
			}
			continue
		}
		if f.Type == arrayType.Elem() {
			return nil, fault("an array is held as *mlx.Array; given mlx.Array")
		}
		if f.Type.Kind() == reflect.Map && holds(f.Type, false, nil) {
			return nil, fault("a map has no order and cannot hold parameters; use a slice, or the tag `mlx:\"-\"`")
		}
		if !holds(f.Type, true, nil) {
			if tagged {
				return nil, fault("the tag `mlx:%q` has no effect, since type %v holds no parameters", tag, f.Type)
			}
			continue
		}
		flatten := embedded && name == ""
		if name == "" {
			name = defaultName(f.Name)
		}
		if !flatten {
			if other, taken := owner[name]; taken {
				return nil, fault("its name %q is that of field %s too", name, other)
			}
			owner[name] = f.Name
		}
		fields = append(fields, field{index: i, name: name, flatten: flatten, frozen: frozen})
	}
	return fields, nil
}

func parseTag(tag string) (name string, frozen bool, err error) {
	name, options, _ := strings.Cut(tag, ",")
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' {
			return "", false, fmt.Errorf("%q cannot be part of a name; letters, digits, _ and - can", r)
		}
	}
	switch options {
	case "":
	case "frozen":
		frozen = true
	default:
		return "", false, fmt.Errorf("unknown option %q; frozen is the only one", options)
	}
	return name, frozen, nil
}

// defaultName is the snake case of a Go name, or the name itself when it has no small letter.
func defaultName(s string) string {
	if !strings.ContainsFunc(s, unicode.IsLower) {
		return s
	}
	runes := []rune(s)
	var b strings.Builder
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && runes[i-1] != '_' {
			startsWord := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(runes[i-1]) || startsWord {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func isStruct(t reflect.Type) bool {
	if t == arrayType {
		return false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// holds tells whether a value of type t can hold parameters. An interface can hold anything;
// dynamic says whether that counts.
func holds(t reflect.Type, dynamic bool, seen map[reflect.Type]bool) bool {
	if t == arrayType {
		return true
	}
	switch t.Kind() {
	case reflect.Interface:
		return dynamic
	case reflect.Slice, reflect.Array, reflect.Map:
		return holds(t.Elem(), dynamic, seen)
	case reflect.Pointer:
		return t.Elem().Kind() == reflect.Struct && holds(t.Elem(), dynamic, seen)
	case reflect.Struct:
		if seen[t] {
			return false
		}
		if seen == nil {
			seen = make(map[reflect.Type]bool)
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			visible := f.IsExported() || f.Anonymous && isStruct(f.Type)
			if visible && f.Tag.Get("mlx") != "-" && holds(f.Type, dynamic, seen) {
				return true
			}
		}
	}
	return false
}
