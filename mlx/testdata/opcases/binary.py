"""Operations on two arrays, and the choices between arrays."""
import mlx.core as mx
import numpy as np

from .core import A, S, case, some, whole

NAN, INF = float("nan"), float("inf")

ARITHMETIC = [
    ("Add", mx.add, np.add, (-2, 2), (-2, 2)),
    ("Sub", mx.subtract, np.subtract, (-2, 2), (-2, 2)),
    ("Mul", mx.multiply, np.multiply, (-2, 2), (-2, 2)),
    ("Div", mx.divide, np.divide, (-2, 2), (0.5, 2)),
    ("FloorDivide", mx.floor_divide, np.floor_divide, (-8, 8), (0.5, 2)),
    ("Remainder", mx.remainder, np.remainder, (-8, 8), (0.5, 2)),
    ("Power", mx.power, np.power, (0.1, 2), (-2, 2)),
    ("Maximum", mx.maximum, np.maximum, (-2, 2), (-2, 2)),
    ("Minimum", mx.minimum, np.minimum, (-2, 2), (-2, 2)),
    ("LogAddExp", mx.logaddexp, np.logaddexp, (-4, 4), (-4, 4)),
    ("ArcTan2", mx.arctan2, np.arctan2, (-2, 2), (-2, 2)),
]
COMPARISONS = [
    ("Equal", mx.equal, np.equal),
    ("NotEqual", mx.not_equal, np.not_equal),
    ("Less", mx.less, np.less),
    ("LessEqual", mx.less_equal, np.less_equal),
    ("Greater", mx.greater, np.greater),
    ("GreaterEqual", mx.greater_equal, np.greater_equal),
]
LOGIC = [
    ("LogicalAnd", mx.logical_and, np.logical_and),
    ("LogicalOr", mx.logical_or, np.logical_or),
    ("LogicalXor", mx.logical_xor, np.logical_xor),
]
BITS = [
    ("BitwiseAnd", mx.bitwise_and, np.bitwise_and),
    ("BitwiseOr", mx.bitwise_or, np.bitwise_or),
    ("BitwiseXor", mx.bitwise_xor, np.bitwise_xor),
    ("LeftShift", mx.left_shift, np.left_shift),
    ("RightShift", mx.right_shift, np.right_shift),
]


def arithmetic():
    for op, f, g, left, right in ARITHMETIC:
        x = some(2, 3, low=left[0], high=left[1], seed=1)
        y = some(2, 3, low=right[0], high=right[1], seed=2)
        case(op, {"x": A(x), "y": A(y)}, f, np_f=g)
        case(op, {"x": A(x[:, :1]), "y": A(y[0])}, f, "broadcast", g)
        case(op, {"x": A(x.T, view=[["transpose", [1, 0]]]), "y": A(y, view=[["slice", [0, 0], [2, 3], [2, 1]]])}, f, "strided", g)
        case(op, {"x": A(x[0], view=[["broadcast", [2, 3]]]), "y": A(y)}, f, "broadcast view", g)
        case(op, {"x": A(np.zeros((0, 3))), "y": A(y[0])}, f, "empty", g)
        case(op, {"x": A(x[0, 0]), "y": A(y[1, 1])}, f, "0-d", g)
        # Floored divisions jump where a half type rounds to the other side of a whole number.
        case(op, {"x": A(x, "float16"), "y": A(y, "float16")}, f, "half type", None if op in ("FloorDivide", "Remainder") else g)
        case(op, {"x": A(x, "bfloat16"), "y": A(y)}, f, "mixed types", g if op not in ("FloorDivide", "Remainder") else None, np_tol=2e-2)
    for op in ("Add", "Maximum", "Minimum", "LogAddExp"):
        f, g = next((f, g) for n, f, g, *_ in ARITHMETIC if n == op)
        case(op, {"x": A([NAN, INF, -INF, INF]), "y": A([1.0, -1.0, -INF, INF])}, f, "special values", g)


def integers():
    for op, f, g, *_ in ARITHMETIC[:9]:
        if op in ("Div", "Power"):
            continue
        case(op, {"x": A([7, -7, 7, -7], "int32"), "y": A([2, 2, -2, -3], "int32")}, f, "integers", g)
        case(op, {"x": A([200, 7], "uint8"), "y": A([100, 3], "uint8")}, f, "unsigned, beyond the range", g)
    case("Div", {"x": A([7, -7], "int32"), "y": A([2, 2], "int32")}, mx.divide, "integers", np.divide)
    case("Power", {"x": A([2, -3, 0], "int32"), "y": A([5, 3, 0], "int32")}, mx.power, "integers", np.power)
    case("FloorDivide", {"x": A([7, -7], "int32"), "y": A([0, 0], "int32")}, mx.floor_divide, "division by zero", np.floor_divide)
    case("Remainder", {"x": A([7, -7], "int32"), "y": A([0, 0], "int32")}, mx.remainder, "division by zero")
    case("Add", {"x": A([True, False], "bool"), "y": A([True, False], "bool")}, mx.add, "Booleans", np.add)
    case("Mul", {"x": A([1 + 2j], "complex64"), "y": A([3 - 1j], "complex64")}, mx.multiply, "complex", np.multiply)
    case("Div", {"x": A([1 + 2j], "complex64"), "y": A([3 - 1j], "complex64")}, mx.divide, "complex", np.divide)
    case("Add", {"x": A([2 ** 62], "int64"), "y": A([1], "int64")}, mx.add, "large integers", np.add)


def truths():
    x = [[1.0, NAN, 2.0], [0.0, INF, -1.0]]
    y = [[1.0, NAN, 1.0], [-0.0, INF, 3.0]]
    for op, f, g in COMPARISONS + LOGIC:
        case(op, {"x": A(x), "y": A(y)}, f, np_f=g)
        case(op, {"x": A(x, view=[["transpose", [1, 0]]]), "y": A([1.0, 0.0])}, f, "strided, broadcast", g)
        case(op, {"x": A([1, 0, 3], "int8"), "y": A([1.0, 0.5, 0.0], "float16")}, f, "mixed types", g)
        case(op, {"x": A([]), "y": A(1.0)}, f, "empty", g)
    for op, f, g in BITS:
        case(op, {"x": A([12, 10, -3], "int32"), "y": A([1, 3, 2], "int32")}, f, np_f=g)
        case(op, {"x": A([[200], [7]], "uint8"), "y": A([1, 3], "uint8")}, f, "broadcast", g)
        case(op, {"x": A(whole(2, 3, low=0), "int64", [["transpose", [1, 0]]]), "y": A(whole(3, 2, low=0), "int64")}, f, "strided", g)
    for op, f, g in BITS[:3]:
        case(op, {"x": A([True, False], "bool"), "y": A([True, True], "bool")}, f, "Booleans", g)


def choices():
    x, y = some(2, 3, seed=1), some(2, 3, seed=2)
    case("DivMod", {"x": A([7.5, -7.5]), "y": A([2.0, 2.0])}, mx.divmod, np_f=np.divmod)
    case("DivMod", {"x": A([[7], [-7]], "int32"), "y": A([2, -3], "int32")}, mx.divmod, "integers, broadcast", np.divmod)
    cond = [[True, False, True], [False, False, True]]
    case("Where", {"a": A(cond, "bool"), "x": A(x), "y": A(y)}, mx.where, np_f=np.where)
    case("Where", {"a": A([[True], [False]], "bool"), "x": A(x[0], "float16"), "y": S(0.5)}, mx.where, "broadcast, half type, scalar", np.where)
    case("Where", {"a": A([0, 2, -1], "int32"), "x": S(1), "y": A(y.T, view=[["transpose", [1, 0]]])}, mx.where, "integers as condition, strided",
         np.where)
    case("Where", {"a": A(np.zeros((0, 3)), "bool"), "x": A(x[0]), "y": A(y[0])}, mx.where, "empty", np.where)
    case("Clip", {"a": A(x), "low": S(-0.5), "high": S(1)}, mx.clip, np_f=np.clip)
    case("Clip", {"a": A(x, view=[["transpose", [1, 0]]]), "low": None, "high": A([0.0, 1.0])}, mx.clip, "strided, arrays as limits", np.clip)
    case("Clip", {"a": A([NAN, 3.0, -3.0], "bfloat16"), "low": S(-1.0), "high": None}, mx.clip, "half type, NaN", lambda a, b, c: np.clip(a, b, c))
    case("Clip", {"a": A([1, 5], "int32"), "low": S(2), "high": S(2.5)}, mx.clip, "integers with a float limit", np.clip)


def nearness():
    a, b = [1.0, NAN, INF], [1.0 + 5e-6, NAN, INF]
    close = {"rtol": 1e-5, "atol": 1e-8}
    eq, ac, ic = (lambda a, b, n: mx.array_equal(a, b, equal_nan=n)), (lambda a, b, r, t, n: mx.allclose(a, b, r, t, equal_nan=n)), (
        lambda a, b, r, t, n: mx.isclose(a, b, r, t, equal_nan=n))
    np_ac, np_ic = (lambda a, b, r, t, n: np.allclose(a, b, r, t, n)), (lambda a, b, r, t, n: np.isclose(a, b, r, t, n))
    np_eq = lambda a, b, n: np.array_equal(a, b, equal_nan=n)
    for nan in (False, True):
        word = "NaN equals NaN" if nan else ""
        case("ArrayEqual", {"a": A(a), "b": A(a), "equalNaN": nan}, eq, word, np_eq)
        case("AllClose", {"a": A(a), "b": A(b), **close, "equalNaN": nan}, ac, word, np_ac)
        case("IsClose", {"a": A(a), "b": A(b), **close, "equalNaN": nan}, ic, word, np_ic)
    case("ArrayEqual", {"a": A([1.0, 2.0]), "b": A([[1.0, 2.0]]), "equalNaN": False}, eq, "other shape", np_eq)
    case("ArrayEqual", {"a": A([1, 2], "int32"), "b": A([1.0, 2.0], "float16"), "equalNaN": False}, eq, "mixed types", np_eq)
    case("ArrayEqual", {"a": A([]), "b": A([]), "equalNaN": False}, eq, "empty", np_eq)
    x = some(2, 3, seed=3)
    case("AllClose", {"a": A(x), "b": A(x[:1]), "rtol": 0.1, "atol": 4.0, "equalNaN": False}, ac, "broadcast", np_ac)
    case("IsClose", {"a": A(x, view=[["transpose", [1, 0]]]), "b": A(x[:, 0]), "rtol": 0.5, "atol": 0.5, "equalNaN": False}, ic,
         "strided, broadcast", np_ic)
    case("IsClose", {"a": A([1.0, 2.0], "float16"), "b": A([1.1, 2.5], "float16"), "rtol": 0.15, "atol": 0.0, "equalNaN": False}, ic, "half type",
         np_ic)


def cases():
    arithmetic()
    integers()
    truths()
    choices()
    nearness()
