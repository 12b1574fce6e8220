package mlx

import "strings"

// differentiable are the operations whose gradients are compared with central differences.
var differentiable = strings.Fields(`
	Abs Negative Sign Reciprocal Square Sqrt Rsqrt Exp Expm1 Log Log2 Log10 Log1p Sin Cos Tan ArcSin ArcCos ArcTan Sinh Cosh Tanh
	ArcSinh ArcCosh ArcTanh Degrees Radians Sigmoid Erf ErfInv Floor Ceil Trunc Conjugate Real Imag Round NaNToNum
	Add Sub Mul Div FloorDivide Remainder Power Maximum Minimum LogAddExp ArcTan2 DivMod Where Clip
	Sum SumKeepDims Mean MeanKeepDims Prod ProdKeepDims Max MaxKeepDims Min MinKeepDims LogSumExp LogSumExpKeepDims Median
	MedianKeepDims Var VarKeepDims VarDdof Std StdKeepDims StdDdof Softmax MinMax CumSum CumProd CumMax CumMin LogCumSumExp Diff
	Sort Partition TopK
	Reshape Flatten Unflatten Squeeze ExpandDims T Transpose MatrixTranspose SwapAxes MoveAxis BroadcastTo BroadcastArrays Concatenate
	Stack Split SplitAt Unstack Repeat Tile Pad Flip Roll Slice SliceStep SliceUpdate SliceUpdateAdd SliceUpdateProd SliceUpdateMax
	SliceUpdateMin sliceAxis AsStrided AsType Contiguous Copy AtLeast1D AtLeast2D AtLeast3D MeshGrid Depends
	Full FullLike TriL TriU Diag Diagonal Trace
	MatMul AddMM Inner Outer VecDot Kron TensorDot Einsum BlockMaskedMM GatherMM Norm NormOrd NormNamed Det Solve SolveTriangular Cross
	SlogDet HadamardTransform
	Take TakeFlat Select TakeAlongAxis PutAlongAxis ScatterAddAxis Gather Scatter ScatterAdd ScatterMax ScatterMin MaskedScatter
	conv1d conv2d conv3d convGeneral convTranspose1d convTranspose2d convTranspose3d
	RMSNorm LayerNorm SoftmaxCrossEntropy RoPE ScaledDotProductAttention GatedDeltaUpdate
	RandomUniform RandomTruncatedNormal RandomMultivariateNormal RandomPermutation
	Dequantize QuantizedMatMul GatherQuantizedMatMul
	FFT FFTN IFFT IFFTN RFFT RFFTN IRFFT IRFFTN FFTShift IFFTShift STFT ISTFT`)

// The reasons for which an operation has no gradient. Each is checked.
const (
	noFloatResults   = "its results are integers or Booleans"
	noFloatArguments = "it takes no array that could have a gradient"
	constant         = "its results do not depend on the values, or count as constants"
	notInMLX         = "libmlx has no gradient for it"
	rounds           = "it rounds to a few bits"
)

var notDifferentiable = map[string]string{}

func init() {
	for reason, names := range map[string]string{
		noFloatResults: `All AllKeepDims Any AnyKeepDims CountNonzero CountNonzeroKeepDims ArgMax ArgMaxKeepDims ArgMin ArgMinKeepDims
			ArgPartition ArgSort SearchSorted ArrayEqual AllClose IsClose Equal NotEqual Less LessEqual Greater GreaterEqual IsNaN IsInf
			IsFinite IsPosInf IsNegInf LogicalNot LogicalAnd LogicalOr LogicalXor RandomCategorical RandomCategoricalN ToFP8 View`,
		noFloatArguments: `BitwiseInvert BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift Zeros Ones Arange Linspace Eye Identity Tri
			Hanning Hamming Bartlett Blackman FFTFreq RFFTFreq Key SplitKey RandomBits RandomInt RandomBernoulli RandomNormal RandomGumbel
			RandomLaplace RandomPermutationN FromFP8`,
		constant: `StopGradient ZerosLike OnesLike`,
		notInMLX: `QR SVD SingularValues Inverse PInverse EigenValues TriInverse Cholesky CholeskyInverse LU LUFactor Eig EigH EigenValuesH
			SegmentedMM ScatterProd`,
		rounds: `Quantize`,
	} {
		for _, name := range strings.Fields(names) {
			notDifferentiable[name] = reason
		}
	}
}

// gradientCase says how an operation's gradient is checked where the first regular vector in float64 will not do.
type gradientCase struct {
	args      vectorArgs // instead of the vector's
	constants []string   // arguments by which libmlx has no gradient
	single    bool       // computed in float32, whatever the arguments' type
	step      float64
}

// jumps is the step for operations with jumps and kinks, which the differences must not reach across.
const jumps = 1e-4

var gradientCases = map[string]gradientCase{
	"Round": {args: vectorArgs{"a": New([]float64{-1.3, 0.2, 2.4})}},
	"Max":   {step: jumps}, "MaxKeepDims": {step: jumps}, "Min": {step: jumps}, "MinKeepDims": {step: jumps}, "MinMax": {step: jumps},
	"Median": {step: jumps}, "MedianKeepDims": {step: jumps}, "Maximum": {step: jumps}, "Minimum": {step: jumps},
	"FloorDivide": {step: jumps}, "Remainder": {step: jumps}, "DivMod": {step: jumps},
	"CumMax": {step: jumps}, "CumMin": {step: jumps}, "Sort": {step: jumps}, "Partition": {step: jumps}, "TopK": {step: jumps},

	"AsType":    {args: vectorArgs{"dtype": Float32, "a": New([]float64{-1.25, 0.5})}, single: true},
	"AtLeast1D": {args: vectorArgs{"a": Scalar(1.5)}},
	"AtLeast2D": {args: vectorArgs{"a": New([]float64{1, 2})}},
	"AtLeast3D": {args: vectorArgs{"a": New([]float64{1, 2})}},
	"Full":      {args: vectorArgs{"value": New([]float64{1, 2, 3}), "dtype": Float64}},
	"FullLike":  {args: vectorArgs{"value": New([]float64{1, 2, 3}), "a": Zeros([]int{2, 3}, Float64)}},

	"BlockMaskedMM": {single: true}, "GatherMM": {single: true}, "HadamardTransform": {single: true},
	"Solve": {constants: []string{"a"}}, "SolveTriangular": {constants: []string{"a"}},

	"conv1d": {single: true}, "conv2d": {single: true}, "conv3d": {single: true}, "convGeneral": {single: true},
	"convTranspose1d": {single: true}, "convTranspose2d": {single: true}, "convTranspose3d": {single: true},
	"RMSNorm": {single: true}, "LayerNorm": {single: true}, "SoftmaxCrossEntropy": {single: true},
	"ScaledDotProductAttention": {single: true}, "GatedDeltaUpdate": {single: true},

	"RandomUniform":            {args: vectorArgs{"low": New([]float64{-1, 0, 1}), "high": New([]float64{2, 5, 3})}},
	"RandomTruncatedNormal":    {args: vectorArgs{"low": New([]float64{-1, 0, 1}), "high": New([]float64{2, 1, 3})}, single: true},
	"RandomMultivariateNormal": {constants: []string{"covariance"}},

	"Dequantize": {single: true}, "QuantizedMatMul": {single: true}, "GatherQuantizedMatMul": {single: true},
	"FFT": {single: true}, "FFTN": {single: true}, "IFFT": {single: true}, "IFFTN": {single: true}, "RFFT": {single: true},
	"RFFTN": {single: true}, "IRFFT": {single: true}, "IRFFTN": {single: true}, "STFT": {single: true}, "ISTFT": {single: true},
}

// noForward are differentiable operations for which libmlx has no forward derivative.
var noForward = strings.Fields(`CumProd CumMax CumMin SliceUpdateProd SliceUpdateMax SliceUpdateMin Depends Diag BlockMaskedMM GatherMM
	Scatter ScatterAdd ScatterMax ScatterMin conv1d conv2d conv3d convGeneral convTranspose1d convTranspose2d convTranspose3d
	QuantizedMatMul GatherQuantizedMatMul`)
