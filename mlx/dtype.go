package mlx

import "fmt"

// Dtype is the type of an array's elements.
type Dtype uint8

// The types of elements. Float64 works on the CPU only.
const (
	Bool Dtype = iota
	Uint8
	Uint16
	Uint32
	Uint64
	Int8
	Int16
	Int32
	Int64
	Float16
	Float32
	Float64
	BFloat16
	Complex64
)

var dtypeNames = [...]string{"bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
	"float16", "float32", "float64", "bfloat16", "complex64"}

var dtypeSizes = [...]int{1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8}

func (d Dtype) valid() bool { return int(d) < len(dtypeNames) }

// String is MLX's and numpy's name of the type, for example "float32".
func (d Dtype) String() string {
	if !d.valid() {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypeNames[d]
}

// Size is the number of bytes of one element.
func (d Dtype) Size() int {
	if !d.valid() {
		return 0
	}
	return dtypeSizes[d]
}

// IsFloat tells whether the type is a real floating point type.
func (d Dtype) IsFloat() bool {
	return d == Float16 || d == Float32 || d == Float64 || d == BFloat16
}

// IsInteger tells whether the type is an integer type; Bool is none.
func (d Dtype) IsInteger() bool { return d >= Uint8 && d <= Int64 }

// Element is a Go type that an array's elements can come from and go to.
type Element interface {
	bool | uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64 | int | F16 | BF16 | float32 | float64 | complex64
}

// dtypeOf is the dtype of a Go element type. int stands for Int32, as plain integers do in MLX.
func dtypeOf[T Element]() Dtype {
	var v T
	switch any(v).(type) {
	case bool:
		return Bool
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case int8:
		return Int8
	case int16:
		return Int16
	case int32, int:
		return Int32
	case int64:
		return Int64
	case F16:
		return Float16
	case BF16:
		return BFloat16
	case float32:
		return Float32
	case float64:
		return Float64
	default:
		return Complex64
	}
}
