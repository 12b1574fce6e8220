"""Running results along an axis, sorting and searching."""
import mlx.core as mx
import numpy as np

from .core import A, case, some

NAN = float("nan")


def flags(f):
    return lambda a, axis, reverse, inclusive: f(a, axis=axis, reverse=reverse, inclusive=inclusive)


def np_scan(g, first):
    def run(a, axis, reverse, inclusive):
        a = np.flip(a, axis) if reverse else a
        out = g(a, axis=axis)
        if not inclusive:
            out = np.roll(out, 1, axis)
            at = [slice(None)] * a.ndim
            at[axis] = 0
            out[tuple(at)] = first
        return np.flip(out, axis) if reverse else out
    return run


def scans():
    x = some(2, 3, 4, seed=11)
    for op, f, g, first in (("CumSum", mx.cumsum, np.cumsum, 0), ("CumProd", mx.cumprod, np.cumprod, 1),
                            ("CumMax", mx.cummax, np.maximum.accumulate, -np.inf), ("CumMin", mx.cummin, np.minimum.accumulate, np.inf),
                            ("LogCumSumExp", mx.logcumsumexp, np.logaddexp.accumulate, -np.inf)):
        run, np_run = flags(f), np_scan(g, first)

        def scan(a, axis, reverse, inclusive, odd="", **more):
            case(op, {"a": a, "axis": axis, "reverse": reverse, "inclusive": inclusive}, run, odd, np_run, **more)

        scan(A(x), 1, False, True)
        scan(A(x), 2, True, True, "reverse")
        scan(A(x), 0, False, False, "exclusive")
        scan(A(x), -2, True, False, "reverse, exclusive, negative axis")
        scan(A(x, view=[["transpose", [2, 0, 1]]]), 0, False, True, "strided")
        scan(A(x, "float16"), 2, False, True, "half type", np_tol=1e-2)
        scan(A(np.zeros((2, 0))), 1, False, True, "empty")
        if op != "LogCumSumExp":
            scan(A([3, 1, 2], "int32"), 0, False, True, "integers")
    diff = lambda a, n, axis: mx.diff(a, n=n, axis=axis)
    np_diff = lambda a, n, axis: np.diff(a, n=n, axis=axis)
    case("Diff", {"a": A(x), "n": 1, "axis": 1}, diff, np_f=np_diff)
    case("Diff", {"a": A(x, view=[["transpose", [2, 0, 1]]]), "n": 2, "axis": -3}, diff, "strided, negative axis, twice", np_diff)
    case("Diff", {"a": A([3.0, 4.0]), "n": 0, "axis": 0}, diff, "no difference taken", np_diff)
    case("Diff", {"a": A([True, False], "bool"), "n": 1, "axis": 0}, diff, "Booleans", np_diff)


def sorting():
    x = some(3, 4, seed=13)
    for op, f, g in (("Sort", mx.sort, np.sort), ("ArgSort", mx.argsort, np.argsort)):
        run, np_run = (lambda a, axis: f(a, axis=axis)), (lambda a, axis: g(a, axis=axis, stable=True))
        case(op, {"a": A(x), "axis": 1}, run, np_f=np_run)
        case(op, {"a": A(x, view=[["transpose", [1, 0]]]), "axis": -2}, run, "strided, negative axis", np_run)
        case(op, {"a": A([3, -1, 2], "int64"), "axis": 0}, run, "integers", np_run)
        case(op, {"a": A(x[0], "bfloat16"), "axis": 0}, run, "half type", np_run)
        case(op, {"a": A(np.zeros((0, 2))), "axis": 1}, run, "empty", np_run)
    case("Sort", {"a": A([2.0, NAN, 1.0]), "axis": 0}, lambda a, axis: mx.sort(a, axis=axis), "NaN", lambda a, axis: np.sort(a, axis=axis))
    for op, f in (("Partition", mx.partition), ("ArgPartition", mx.argpartition)):
        run = lambda a, kth, axis: f(a, kth=kth, axis=axis)
        check = "partition" if op == "Partition" else "argpartition"
        case(op, {"a": A(x), "kth": 2, "axis": 1}, run, check=check)
        case(op, {"a": A(x, view=[["transpose", [1, 0]]]), "kth": -3, "axis": -2}, run, "strided, negative axis, negative kth", check=check)
        case(op, {"a": A([3, 1, 2], "int32"), "kth": 0, "axis": 0}, run, "integers", check=check)
    top = lambda a, k, axis: mx.topk(a, k, axis=axis)
    np_top = lambda a, k, axis: np.sort(a, axis=axis)[tuple([slice(None)] * (axis % a.ndim) + [slice(-k, None)])]
    sort_both = lambda f: lambda a, k, axis: np.sort(np.asarray(f(a, k, axis)), axis=axis)
    case("TopK", {"a": A(x), "k": 2, "axis": 1}, lambda a, k, axis: mx.sort(top(a, k, axis), axis=axis), np_f=sort_both(np_top), check="sorted")
    case("TopK", {"a": A(x, view=[["transpose", [1, 0]]]), "k": 1, "axis": -2}, top, "strided, negative axis", np_top, check="sorted")
    case("TopK", {"a": A(x), "k": 4, "axis": 1}, lambda a, k, axis: mx.sort(top(a, k, axis), axis=axis), "all", sort_both(np_top), check="sorted")


def searching():
    edges = [0.0, 1.0, 1.0, 2.5]
    for side in ("left", "right"):
        run, np_run = (lambda a, v, s: mx.searchsorted(a, v, side=s)), (lambda a, v, s: np.searchsorted(a, v, side=s))
        case("SearchSorted", {"a": A(edges), "values": A([-1.0, 1.0, 2.0, 9.0]), "side": side}, run, "" if side == "left" else "from the right", np_run)
        case("SearchSorted", {"a": A(edges + [9.0] * 4, view=[["slice", [0], [8], [2]]]), "values": A([[1.0], [9.0]]), "side": side}, run, "strided", np_run)
        case("SearchSorted", {"a": A([]), "values": A(1.0), "side": side}, run, "empty, 0-d", np_run)


def cases():
    scans()
    sorting()
    searching()
