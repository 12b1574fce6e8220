package mlx

// ConvOptions are the settings of a convolution over n axes. A zero value means the usual: stride
// 1, no padding, dilation 1, one group. A list has one number for each axis, or one for all.
type ConvOptions struct {
	Stride, Padding, Dilation []int
	// InputDilation puts zeros between the input's elements (ConvGeneral only).
	InputDilation []int
	// PaddingHigh is the padding at the upper ends where it differs from Padding (ConvGeneral only).
	PaddingHigh []int
	// OutputPadding enlarges the result at the upper ends (transposed convolutions only).
	OutputPadding []int
	// Groups splits the channels into groups that are convolved apart.
	Groups int
	// Flip turns the weight around: a true convolution instead of a correlation (ConvGeneral only).
	Flip bool
}

// perAxis gives n numbers: the list's, its only one for all, or the default. A list of another
// length is passed on, and the operation refuses it.
func perAxis(list []int, n, usual int) []int {
	if len(list) > 1 {
		return list
	}
	out := make([]int, n)
	for i := range out {
		out[i] = usual
		if len(list) == 1 {
			out[i] = list[0]
		}
	}
	return out
}

func (o ConvOptions) groups() int {
	if o.Groups == 0 {
		return 1
	}
	return o.Groups
}

// Conv1D convolves input [N, L, C] with weight [O, K, C/groups] to [N, L', O].
func Conv1D(input, weight *Array, o ConvOptions) *Array { return Ops{}.Conv1D(input, weight, o) }

// Conv1D is [Conv1D] on the stream.
func (s Ops) Conv1D(input, weight *Array, o ConvOptions) *Array {
	return s.conv1d(input, weight, perAxis(o.Stride, 1, 1), perAxis(o.Padding, 1, 0), perAxis(o.Dilation, 1, 1), o.groups())
}

// Conv2D convolves input [N, H, W, C] with weight [O, KH, KW, C/groups] to [N, H', W', O].
func Conv2D(input, weight *Array, o ConvOptions) *Array { return Ops{}.Conv2D(input, weight, o) }

// Conv2D is [Conv2D] on the stream.
func (s Ops) Conv2D(input, weight *Array, o ConvOptions) *Array {
	return s.conv2d(input, weight, perAxis(o.Stride, 2, 1), perAxis(o.Padding, 2, 0), perAxis(o.Dilation, 2, 1), o.groups())
}

// Conv3D convolves input [N, D, H, W, C] with weight [O, KD, KH, KW, C/groups].
func Conv3D(input, weight *Array, o ConvOptions) *Array { return Ops{}.Conv3D(input, weight, o) }

// Conv3D is [Conv3D] on the stream.
func (s Ops) Conv3D(input, weight *Array, o ConvOptions) *Array {
	return s.conv3d(input, weight, perAxis(o.Stride, 3, 1), perAxis(o.Padding, 3, 0), perAxis(o.Dilation, 3, 1), o.groups())
}

// ConvGeneral convolves input [N, ..., C] with weight [O, ..., C/groups] with all settings.
func ConvGeneral(input, weight *Array, o ConvOptions) *Array {
	return Ops{}.ConvGeneral(input, weight, o)
}

// ConvGeneral is [ConvGeneral] on the stream.
func (s Ops) ConvGeneral(input, weight *Array, o ConvOptions) *Array {
	n := max(input.NDim()-2, 1)
	high := o.PaddingHigh
	if high == nil {
		high = o.Padding
	}
	return s.convGeneral(input, weight, perAxis(o.Stride, n, 1), perAxis(o.Padding, n, 0), perAxis(high, n, 0),
		perAxis(o.Dilation, n, 1), perAxis(o.InputDilation, n, 1), o.groups(), o.Flip)
}

// ConvTranspose1D is the transpose of [Conv1D]: input [N, L, C], weight [O, K, C/groups].
func ConvTranspose1D(input, weight *Array, o ConvOptions) *Array {
	return Ops{}.ConvTranspose1D(input, weight, o)
}

// ConvTranspose1D is [ConvTranspose1D] on the stream.
func (s Ops) ConvTranspose1D(input, weight *Array, o ConvOptions) *Array {
	return s.convTranspose1d(input, weight, perAxis(o.Stride, 1, 1), perAxis(o.Padding, 1, 0), perAxis(o.Dilation, 1, 1), perAxis(o.OutputPadding, 1, 0), o.groups())
}

// ConvTranspose2D is the transpose of [Conv2D].
func ConvTranspose2D(input, weight *Array, o ConvOptions) *Array {
	return Ops{}.ConvTranspose2D(input, weight, o)
}

// ConvTranspose2D is [ConvTranspose2D] on the stream.
func (s Ops) ConvTranspose2D(input, weight *Array, o ConvOptions) *Array {
	return s.convTranspose2d(input, weight, perAxis(o.Stride, 2, 1), perAxis(o.Padding, 2, 0), perAxis(o.Dilation, 2, 1), perAxis(o.OutputPadding, 2, 0), o.groups())
}

// ConvTranspose3D is the transpose of [Conv3D].
func ConvTranspose3D(input, weight *Array, o ConvOptions) *Array {
	return Ops{}.ConvTranspose3D(input, weight, o)
}

// ConvTranspose3D is [ConvTranspose3D] on the stream.
func (s Ops) ConvTranspose3D(input, weight *Array, o ConvOptions) *Array {
	return s.convTranspose3d(input, weight, perAxis(o.Stride, 3, 1), perAxis(o.Padding, 3, 0), perAxis(o.Dilation, 3, 1), perAxis(o.OutputPadding, 3, 0), o.groups())
}
