"""New arrays."""
import mlx.core as mx
import numpy as np

from .core import A, D, S, case, some

TURN = [["transpose", [1, 0]]]


def filled():
    for op, f, g in (("Zeros", mx.zeros, np.zeros), ("Ones", mx.ones, np.ones)):
        for shape, d, odd in (([2, 3], "float32", ""), ([], "int8", "0-d"), ([2, 0], "complex64", "empty"), ([2], "bfloat16", "half type"), ([2], "bool", "Booleans")):
            case(op, {"shape": shape, "dtype": D(d)}, f, odd, lambda s, d: g(s))
    full = lambda s, v, d: mx.full(s, v).astype(d)  # mx.full(s, v, d) itself forgets d for some values
    np_full = lambda s, v, d: np.broadcast_to(v, s)
    case("Full", {"shape": [2, 3], "value": S(1.5), "dtype": D("float32")}, full, np_f=np_full)
    case("Full", {"shape": [2, 3], "value": A([1, 2, 3], "int32"), "dtype": D("float16")}, full, "broadcast, half type", np_full)
    case("Full", {"shape": [2], "value": S(2.7), "dtype": D("int32")}, full, "float into integers", lambda s, v, d: np.full(s, int(v)))
    case("Full", {"shape": [0], "value": S(1 + 2j), "dtype": D("complex64")}, full, "empty, complex", np_full)
    case("Full", {"shape": [], "value": S(True), "dtype": D("bfloat16")}, full, "0-d, half type", np_full)
    x = some(2, 3, seed=41)
    for op, f, g in (("ZerosLike", mx.zeros_like, np.zeros_like), ("OnesLike", mx.ones_like, np.ones_like)):
        case(op, {"a": A(x)}, f, np_f=g)
        case(op, {"a": A(x, "float16", TURN)}, f, "strided, half type", g)
        case(op, {"a": A(1, "int64")}, f, "0-d", g)
        case(op, {"a": A(np.zeros((2, 0)))}, f, "empty", g)
    like = lambda a, v: full(a.shape, v, a.dtype)
    np_like = lambda a, v: np.broadcast_to(v, a.shape)
    case("FullLike", {"a": A(x), "value": S(2.5)}, like, np_f=np_like)
    case("FullLike", {"a": A(x, "bfloat16", TURN), "value": S(2)}, like, "strided, half type", np_like)
    case("FullLike", {"a": A([1, 2], "int32"), "value": S(2.7)}, like, "float into integers", lambda a, v: np.full(a.shape, int(v)))


def ranges():
    arange = lambda a, b, s, d: mx.arange(a, b, s, d)
    np_arange = lambda a, b, s, d: np.arange(a, b, s)
    for a, b, s, d, odd in ((0.0, 5.0, 1.0, "float32", ""), (1.0, 2.0, 0.25, "float16", "half type"), (5.0, 0.0, -2.0, "int32", "negative step"),
                            (3.0, 3.0, 1.0, "int64", "empty"), (0.5, 2.0, 0.5, "float64", "float64")):
        case("Arange", {"start": a, "stop": b, "step": s, "dtype": D(d)}, arange, odd, np_arange)
    line = lambda a, b, n, d: mx.linspace(a, b, n, dtype=d)
    np_line = lambda a, b, n, d: np.linspace(a, b, n)
    for a, b, n, d, odd in ((0.0, 1.0, 5, "float32", ""), (2.0, -1.0, 4, "bfloat16", "half type, downwards"), (3.0, 4.0, 1, "float32", "one point"),
                            (0.0, 1.0, 0, "float32", "empty")):
        case("Linspace", {"start": a, "stop": b, "n": n, "dtype": D(d)}, line, odd, np_line)


def diagonals():
    for n, m, k, d, odd in ((3, 3, 0, "float32", ""), (2, 4, 1, "int32", "wide, above the diagonal"), (4, 2, -1, "float16", "tall, below the diagonal, half type"),
                            (3, 3, 9, "float32", "diagonal outside"), (0, 3, 0, "float32", "empty")):
        case("Eye", {"n": n, "m": m, "k": k, "dtype": D(d)}, lambda n, m, k, d: mx.eye(n, m, k, d), odd, lambda n, m, k, d: np.eye(n, m, k))
        case("Tri", {"n": n, "m": m, "k": k, "dtype": D(d)}, lambda n, m, k, d: mx.tri(n, m, k, d), odd, lambda n, m, k, d: np.tri(n, m, k))
    for n, d, odd in ((3, "float32", ""), (2, "bfloat16", "half type"), (0, "int32", "empty")):
        case("Identity", {"n": n, "dtype": D(d)}, lambda n, d: mx.identity(n, d), odd, lambda n, d: np.identity(n))
    x = some(3, 4, seed=42)
    y = some(2, 3, 4, seed=43)
    for op, f, g in (("TriL", mx.tril, np.tril), ("TriU", mx.triu, np.triu)):
        case(op, {"a": A(x), "k": 0}, f, np_f=g)
        case(op, {"a": A(x, view=TURN), "k": -1}, f, "strided, below the diagonal", g)
        case(op, {"a": A(y, "float16"), "k": 2}, f, "stacked, half type, above the diagonal", g)
    case("Diag", {"a": A([1.0, 2.0]), "k": 0}, mx.diag, np_f=np.diag)
    case("Diag", {"a": A([1.0, 2.0, 3.0], view=[["slice", [0], [3], [2]]]), "k": -1}, mx.diag, "strided, below the diagonal", np.diag)
    case("Diag", {"a": A(x, "bfloat16", TURN), "k": 1}, mx.diag, "taken from a strided matrix, half type", np.diag)
    for op, f, g in (("Diagonal", mx.diagonal, np.diagonal), ("Trace", mx.trace, np.trace)):
        case(op, {"a": A(x), "offset": 0, "axis1": 0, "axis2": 1}, f, np_f=g)
        case(op, {"a": A(y, view=[["transpose", [2, 0, 1]]]), "offset": -1, "axis1": -1, "axis2": 0}, f, "strided, negative axis, below", g)
        case(op, {"a": A(y), "offset": 1, "axis1": 2, "axis2": 1}, f, "above", g)
    case("Trace", {"a": A([[1, 2], [3, 4]], "int32"), "offset": 9, "axis1": 0, "axis2": 1}, mx.trace, "diagonal outside", np.trace)


def windows():
    for op, f, g in (("Hanning", mx.hanning, np.hanning), ("Hamming", mx.hamming, np.hamming), ("Bartlett", mx.bartlett, np.bartlett),
                     ("Blackman", mx.blackman, np.blackman)):
        case(op, {"m": 6}, f, np_f=g)
        case(op, {"m": 1}, f, "one point", g)
        case(op, {"m": 0}, f, "empty", g)


def cases():
    filled()
    ranges()
    diagonals()
    windows()
