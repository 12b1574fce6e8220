"""Reductions along axes."""
import mlx.core as mx
import numpy as np
from scipy import special

from .core import A, case, some

NAN = float("nan")

REDUCTIONS = [
    ("Sum", mx.sum, np.sum),
    ("Mean", mx.mean, np.mean),
    ("Prod", mx.prod, np.prod),
    ("Max", mx.max, np.max),
    ("Min", mx.min, np.min),
    ("All", mx.all, np.all),
    ("Any", mx.any, np.any),
    ("LogSumExp", mx.logsumexp, lambda a, axis, keepdims: np.logaddexp.reduce(a, axis=axis, keepdims=keepdims) if a.ndim else a),
    ("Median", mx.median, np.median),
    ("CountNonzero", mx.count_nonzero, np.count_nonzero),
    ("Var", mx.var, np.var),
    ("Std", mx.std, np.std),
]
WITHOUT_VALUE = ("Mean", "Max", "Min", "Median", "Var", "Std", "LogSumExp")


def pick(axes):
    return tuple(axes) if axes else None


def reduce(op, f, g, a, axes, odd="", np_tol=None, numpy=True):
    for suffix, kept in (("", False), ("KeepDims", True)):
        case(op + suffix, {"a": a, "axes": axes}, lambda x, ax: f(x, axis=pick(ax), keepdims=kept), odd,
             (lambda x, ax: g(x, axis=pick(ax), keepdims=kept)) if numpy else None, np_tol=np_tol)


def reductions():
    for n, (op, f, g) in enumerate(REDUCTIONS):
        x = some(2, 3, 4, seed=n)
        x[0, 1, :2] = 0
        reduce(op, f, g, A(x), [1])
        reduce(op, f, g, A(x), [], "all axes")
        reduce(op, f, g, A(x), [-1, 0], "negative axis, two axes")
        reduce(op, f, g, A(x, view=[["transpose", [2, 0, 1]], ["slice", [0, 0, 0], [4, 2, 3], [2, 1, 2]]]), [0], "strided")
        reduce(op, f, g, A(x[0, 0], view=[["broadcast", [3, 4]]]), [0], "broadcast view")
        reduce(op, f, g, A(x[1, 2, 3]), [], "0-d")
        reduce(op, f, g, A(x, "float16" if n % 2 else "bfloat16"), [2], "half type", np_tol=4e-2)
        reduce(op, f, g, A([[1, 0], [-3, 5]], "int32"), [0], "integers")
        if op not in WITHOUT_VALUE:
            reduce(op, f, g, A(np.zeros((2, 0))), [1], "empty")
        elif op != "LogSumExp":
            reduce(op, f, g, A(np.zeros((0, 2))), [1], "nothing to reduce")
    for op, f, g in REDUCTIONS[3:5]:
        reduce(op, f, g, A([1.0, NAN, 2.0]), [], "NaN")
    reduce("Sum", mx.sum, np.sum, A([200, 100], "uint8"), [], "small integers widen")
    reduce("Sum", mx.sum, np.sum, A([True, True], "bool"), [], "Booleans")
    reduce("Mean", mx.mean, np.mean, A(np.zeros((2, 0))), [1], "empty")


def spreads():
    x = some(3, 4, seed=5)
    for op, f, g in (("VarDdof", mx.var, np.var), ("StdDdof", mx.std, np.std)):
        run, np_run = (lambda a, d, ax: f(a, axis=pick(ax), ddof=d)), (lambda a, d, ax: g(a, axis=pick(ax), ddof=d))
        case(op, {"a": A(x), "ddof": 1, "axes": [1]}, run, np_f=np_run)
        case(op, {"a": A(x, view=[["transpose", [1, 0]]]), "ddof": 2, "axes": [-2]}, run, "strided, negative axis", np_run)
        case(op, {"a": A(x), "ddof": 1, "axes": []}, run, "all axes", np_run)
        case(op, {"a": A([1.5]), "ddof": 1, "axes": []}, run, "no freedom left", np_run)
    soft, np_soft = (lambda a, ax: mx.softmax(a, axis=pick(ax), precise=True)), (lambda a, ax: special.softmax(a, axis=pick(ax)))
    case("Softmax", {"a": A(x), "axes": [1]}, soft, np_f=np_soft)
    case("Softmax", {"a": A(x, view=[["transpose", [1, 0]]]), "axes": [-2]}, soft, "strided, negative axis", np_soft)
    case("Softmax", {"a": A(x), "axes": []}, soft, "all axes", np_soft)
    case("Softmax", {"a": A(x + 1000), "axes": [1]}, soft, "large numbers", np_soft, tol=1e-4)
    case("Softmax", {"a": A(x, "float16"), "axes": [0]}, soft, "half type", np_soft)
    case("Softmax", {"a": A(np.zeros((0, 2))), "axes": [1]}, soft, "empty", np_soft)


def positions():
    x = some(2, 3, 4, seed=7)
    for op, f, g in (("ArgMax", mx.argmax, np.argmax), ("ArgMin", mx.argmin, np.argmin)):
        for suffix, kept in (("", False), ("KeepDims", True)):
            run, np_run = (lambda a, ax: f(a, axis=ax, keepdims=kept)), (lambda a, ax: g(a, axis=ax, keepdims=kept))
            case(op + suffix, {"a": A(x), "axis": 1}, run, np_f=np_run)
            case(op + suffix, {"a": A(x, view=[["transpose", [2, 1, 0]]]), "axis": -1}, run, "strided, negative axis", np_run)
            case(op + suffix, {"a": A([3, 1, 3, 1], "int8"), "axis": 0}, run, "ties, integers", np_run)
            case(op + suffix, {"a": A(x, "bfloat16"), "axis": 0}, run, "half type", np_run)
    run, np_run = (lambda a, ax: mx.minmax(a, axis=pick(ax))), (lambda a, ax: (np.min(a, axis=pick(ax)), np.max(a, axis=pick(ax))))
    case("MinMax", {"a": A(x), "axes": [1]}, run, np_f=np_run)
    case("MinMax", {"a": A(x), "axes": []}, run, "all axes", np_run)
    case("MinMax", {"a": A(x, view=[["transpose", [2, 1, 0]]]), "axes": [-1, 0]}, run, "strided, negative axis", np_run)
    case("MinMax", {"a": A([5, -3], "int16"), "axes": [0]}, run, "integers", np_run)


def cases():
    reductions()
    spreads()
    positions()
