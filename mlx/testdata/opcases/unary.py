"""Operations on the elements of one array."""
import mlx.core as mx
import numpy as np
from scipy import special

from .core import A, S, case, some, whole

NAN, INF = float("nan"), float("inf")
SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0]

# Go name, MLX, numpy, the domain
SMOOTH = [
    ("Abs", mx.abs, np.abs, (-2, 2)),
    ("Negative", mx.negative, np.negative, (-2, 2)),
    ("Sign", mx.sign, np.sign, (-2, 2)),
    ("Reciprocal", mx.reciprocal, np.reciprocal, (0.5, 3)),
    ("Square", mx.square, np.square, (-2, 2)),
    ("Sqrt", mx.sqrt, np.sqrt, (0.1, 4)),
    ("Rsqrt", mx.rsqrt, lambda x: 1 / np.sqrt(x), (0.1, 4)),
    ("Exp", mx.exp, np.exp, (-2, 2)),
    ("Expm1", mx.expm1, np.expm1, (-2, 2)),
    ("Log", mx.log, np.log, (0.1, 4)),
    ("Log2", mx.log2, np.log2, (0.1, 4)),
    ("Log10", mx.log10, np.log10, (0.1, 4)),
    ("Log1p", mx.log1p, np.log1p, (-0.9, 4)),
    ("Sin", mx.sin, np.sin, (-4, 4)),
    ("Cos", mx.cos, np.cos, (-4, 4)),
    ("Tan", mx.tan, np.tan, (-1.4, 1.4)),
    ("ArcSin", mx.arcsin, np.arcsin, (-0.9, 0.9)),
    ("ArcCos", mx.arccos, np.arccos, (-0.9, 0.9)),
    ("ArcTan", mx.arctan, np.arctan, (-4, 4)),
    ("Sinh", mx.sinh, np.sinh, (-2, 2)),
    ("Cosh", mx.cosh, np.cosh, (-2, 2)),
    ("Tanh", mx.tanh, np.tanh, (-2, 2)),
    ("ArcSinh", mx.arcsinh, np.arcsinh, (-4, 4)),
    ("ArcCosh", mx.arccosh, np.arccosh, (1.1, 4)),
    ("ArcTanh", mx.arctanh, np.arctanh, (-0.9, 0.9)),
    ("Degrees", mx.degrees, np.degrees, (-4, 4)),
    ("Radians", mx.radians, np.radians, (-180, 180)),
    ("Sigmoid", mx.sigmoid, special.expit, (-6, 6)),
    ("Erf", mx.erf, special.erf, (-2, 2)),
    ("ErfInv", mx.erfinv, special.erfinv, (-0.9, 0.9)),
    ("Floor", mx.floor, np.floor, (-4, 4)),
    ("Ceil", mx.ceil, np.ceil, (-4, 4)),
    ("Trunc", mx.trunc, np.trunc, (-4, 4)),
]

TESTS = [
    ("IsNaN", mx.isnan, np.isnan),
    ("IsInf", mx.isinf, np.isinf),
    ("IsFinite", mx.isfinite, np.isfinite),
    ("IsPosInf", mx.isposinf, np.isposinf),
    ("IsNegInf", mx.isneginf, np.isneginf),
    ("LogicalNot", mx.logical_not, np.logical_not),
]


def smooth():
    for n, (op, f, g, (low, high)) in enumerate(SMOOTH):
        x = some(2, 3, low=low, high=high, seed=n)
        case(op, {"a": A(x)}, f, np_f=g)
        case(op, {"a": A(x, view=[["transpose", [1, 0]], ["slice", [0, 0], [3, 2], [2, 1]]])}, f, "strided", g)
        case(op, {"a": A(x[0, 0])}, f, "0-d", g)
        case(op, {"a": A(np.zeros((0, 3)))}, f, "empty", g)
        half = "float16" if n % 2 else "bfloat16"
        case(op, {"a": A(x, half)}, f, "half type", g)
        case(op, {"a": A(x, "float64")}, f, "float64", g, tol=1e-6)
        if op not in ("ErfInv",):
            # What becomes of infinities and NaN is where an approximation shows.
            case(op, {"a": A(SPECIAL)}, f, "special values")


def kinds():
    for op, f, g in (("Abs", mx.abs, np.abs), ("Negative", mx.negative, np.negative), ("Sign", mx.sign, np.sign), ("Square", mx.square, np.square),
                     ("Floor", mx.floor, np.floor), ("Ceil", mx.ceil, np.ceil)):
        case(op, {"a": A(whole(5), "int16")}, f, "integers", g)
    case("Abs", {"a": A([3 + 4j, -1j], "complex64")}, mx.abs, "complex", np.abs)
    for op, f, g in (("Exp", mx.exp, np.exp), ("Log", mx.log, np.log), ("Sin", mx.sin, np.sin), ("Sqrt", mx.sqrt, np.sqrt), ("Tanh", mx.tanh, np.tanh)):
        case(op, {"a": A([0.5 + 0.25j, 1.0 - 0.5j], "complex64")}, f, "complex", g)
        case(op, {"a": A([1, 2, 3], "int32")}, f, "integers become float32", g)
    case("Sqrt", {"a": A([-1.0])}, mx.sqrt, "outside of the domain", np.sqrt)


def truths():
    for op, f, g in TESTS:
        case(op, {"a": A(SPECIAL)}, f, np_f=g)
        case(op, {"a": A([SPECIAL, SPECIAL], view=[["slice", [0, 1], [2, 6], [1, 2]]])}, f, "strided", g)
        case(op, {"a": A(SPECIAL, "float16")}, f, "half type", g)
        case(op, {"a": A([0, 3], "int32")}, f, "integers")
        case(op, {"a": A(NAN)}, f, "0-d", g)
    case("LogicalNot", {"a": A([True, False], "bool")}, mx.logical_not, "Booleans", np.logical_not)
    case("BitwiseInvert", {"a": A([0, 1, -7], "int32")}, mx.bitwise_invert, np_f=np.bitwise_not)
    case("BitwiseInvert", {"a": A([0, 200], "uint8")}, mx.bitwise_invert, "unsigned", np.bitwise_not)
    case("BitwiseInvert", {"a": A([True, False], "bool")}, mx.bitwise_invert, "Booleans", np.bitwise_not)


def others():
    x = some(2, 3)
    case("StopGradient", {"a": A(x)}, mx.stop_gradient, np_f=lambda a: a)
    case("StopGradient", {"a": A(x, view=[["transpose", [1, 0]]])}, mx.stop_gradient, "strided", lambda a: a)
    z = x[0] + 1j * x[1]
    for op, f, g in (("Conjugate", mx.conjugate, np.conjugate), ("Real", mx.real, np.real), ("Imag", mx.imag, np.imag)):
        case(op, {"a": A(z, "complex64")}, f, np_f=g)
        case(op, {"a": A([z, z], "complex64", [["transpose", [1, 0]]])}, f, "strided", g)
        case(op, {"a": A(x)}, f, "real input", g)
    case("Round", {"a": A([-1.5, -0.5, 0.5, 1.5, 2.5, 2.51]), "decimals": 0}, mx.round, np_f=np.round)
    case("Round", {"a": A([1.234, -5.678]), "decimals": 2}, mx.round, "decimals", np.round)
    case("Round", {"a": A([123.0, -456.0]), "decimals": -1}, mx.round, "negative decimals", np.round)
    case("Round", {"a": A([0.5, 1.26], "float16"), "decimals": 1}, mx.round, "half type", np.round)
    case("Round", {"a": A([3, -4], "int32"), "decimals": 0}, mx.round, "integers", np.round)
    case("NaNToNum", {"a": A(SPECIAL), "nan": 7.5, "posinf": S(100.0), "neginf": S(-200)}, mx.nan_to_num, np_f=lambda a, n, p, m: np.nan_to_num(a, nan=n, posinf=p, neginf=m))
    case("NaNToNum", {"a": A(SPECIAL), "nan": 0.0, "posinf": None, "neginf": None}, mx.nan_to_num, "no limits given",
         lambda a, n, p, m: np.nan_to_num(a, nan=n))
    case("NaNToNum", {"a": A(SPECIAL, "float16"), "nan": 0.5, "posinf": None, "neginf": S(1.0)}, mx.nan_to_num, "half type",
         lambda a, n, p, m: np.nan_to_num(a, nan=n, neginf=m))
    case("NaNToNum", {"a": A([1, 2], "int32"), "nan": 0.5, "posinf": None, "neginf": None}, mx.nan_to_num, "integers", lambda a, n, p, m: a)


def cases():
    smooth()
    kinds()
    truths()
    others()
