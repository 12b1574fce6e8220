package recurrent

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goName turns a C field name into the Go field's: layer_norm_epsilon, LayerNormEpsilon.
func goName(c string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(c, "_") {
		b.WriteRune(unicode.ToUpper(rune(word[0])))
		b.WriteString(word[1:])
	}
	return b.String()
}

func compareLayout(t *testing.T, path string, c, g reflect.Type) {
	t.Helper()
	assert.Equal(t, c.Size(), g.Size(), "size of %s", path)
	require.Equal(t, c.Kind(), g.Kind(), "kind of %s", path)
	switch c.Kind() {
	case reflect.Array:
		require.Equal(t, c.Len(), g.Len(), "length of %s", path)
		compareLayout(t, path+"[0]", c.Elem(), g.Elem())
	case reflect.Struct:
		require.Equal(t, c.NumField(), g.NumField(), "number of fields of %s", path)
		next := uintptr(0)
		for i := range c.NumField() {
			cf, gf := c.Field(i), g.Field(i)
			name := path + "." + gf.Name
			assert.Equal(t, goName(cf.Name), gf.Name, "field %d of %s", i, path)
			assert.Equal(t, cf.Offset, gf.Offset, "offset of %s", name)
			assert.Equal(t, next, gf.Offset, "padding in front of %s", name)
			next = gf.Offset + gf.Type.Size()
			compareLayout(t, name, cf.Type, gf.Type)
		}
		assert.Equal(t, next, g.Size(), "padding at the end of %s", path)
	default:
		assert.Contains(t, []reflect.Kind{reflect.Int32, reflect.Float32}, g.Kind(), "kind of %s", path)
	}
}

func TestSpecHasTheLayoutOfC(t *testing.T) {
	compareLayout(t, "Spec", cLayout(), reflect.TypeFor[Spec]())
}

// Every field, whichever it is, makes another key.
func TestSpecIsAKeyOfAllItsFields(t *testing.T) {
	seen := map[Spec]string{{}: "zero"}
	var change func(spec *Spec, v reflect.Value, path string)
	change = func(spec *Spec, v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				change(spec, v.Field(i), path+"."+v.Type().Field(i).Name)
			}
			return
		case reflect.Array:
			for i := range v.Len() {
				change(spec, v.Index(i), path+"[]")
			}
			return
		case reflect.Float32:
			v.SetFloat(1)
		default:
			v.SetInt(1)
		}
		assert.NotContains(t, seen, *spec, "%s is not part of the key", path)
		seen[*spec] = path
		v.SetZero()
	}
	var spec Spec
	change(&spec, reflect.ValueOf(&spec).Elem(), "Spec")
	assert.Len(t, seen, 1+int(reflect.TypeFor[Spec]().Size())/4)
}

func TestCells(t *testing.T) {
	for cell, want := range map[Cell]struct {
		name  string
		gates int
	}{RNN: {"RNN", 1}, GRU: {"GRU", 3}, LSTM: {"LSTM", 4}} {
		assert.Equal(t, want.name, cell.String())
		assert.Equal(t, want.gates, cell.Gates())
		for i, a := range DefaultActivations(cell) {
			used := i < want.gates || cell == LSTM && i == CellOutput
			assert.Equal(t, used, a.Kind != Identity, "%v activation %d", cell, i)
		}
	}
}
