"""Norms, decompositions and solvers. What numpy gives differs in signs, so most are checked by their meaning in Go."""
import mlx.core as mx
import numpy as np

from .core import A, S, case, some

la, nl = mx.linalg, np.linalg
TURN = [["transpose", [1, 0]]]
STACK_TURN = [["transpose", [0, 2, 1]]]


def on_cpu(f):
    return lambda *args: f(*args, stream=mx.cpu)


def norms():
    x, y = some(3, 4, seed=71), some(2, 3, 4, seed=72)
    norm = lambda a, ax: la.norm(a, axis=ax or None)
    np_norm = lambda a, ax: nl.norm(a if ax else a.reshape(-1), axis=tuple(ax) if len(ax) > 1 else ax[0] if ax else None)
    case("Norm", {"a": A(x), "axes": [1]}, norm, np_f=np_norm)
    case("Norm", {"a": A(y, view=[["transpose", [2, 0, 1]]]), "axes": [-1, 0]}, norm, "strided, negative axis, matrices", np_norm)
    case("Norm", {"a": A(y), "axes": []}, norm, "all axes", np_norm)
    case("Norm", {"a": A(x, "float16"), "axes": [0]}, norm, "half type", np_norm)
    case("Norm", {"a": A(-2.0), "axes": []}, norm, "0-d")
    of = lambda a, o, ax: la.norm(a, o, axis=ax or None)
    np_of = lambda a, o, ax: nl.norm(a, o, axis=tuple(ax) if len(ax) > 1 else ax[0] if ax else None)
    for order in (1.0, 3.0, float("inf"), float("-inf"), 0.0):
        word = json_word(order)
        case("NormOrd", {"a": A(x), "ord": word, "axes": [1]}, lambda a, o, ax: of(a, float(o), ax), "" if order == 1 else f"order {order}",
             lambda a, o, ax: np_of(a, float(o), ax))
    case("NormOrd", {"a": A(x, view=TURN), "ord": 1.0, "axes": [-2, -1]}, of, "strided, negative axis, matrix norm", np_of)
    case("NormNamed", {"a": A(x), "ord": "fro", "axes": [0, 1]}, of, np_f=np_of)
    case("NormNamed", {"a": A(x, view=TURN), "ord": "nuc", "axes": [0, 1]}, lambda a, o, ax: la.norm(a, o, axis=ax, stream=mx.cpu), "strided", np_of)
    case("NormNamed", {"a": A(y), "ord": "fro", "axes": [-1, -2]}, of, "stacked, negative axis", np_of)


def json_word(v):
    return v if np.isfinite(v) else ("inf" if v > 0 else "-inf")


def good(n, seed):
    """A matrix far from singular."""
    return some(n, n, seed=seed) + 3 * np.eye(n)


def positive(n, seed):
    x = some(n, n, seed=seed, digits=1)
    return np.round(x @ x.T + n * np.eye(n), 2)


def decompositions():
    tall, wide, square = some(4, 3, seed=73), some(2, 3, seed=74), good(3, 75)
    stack = np.stack([good(3, 76), good(3, 77)])
    for a, odd in ((A(square), ""), (A(tall.T, view=TURN), "strided, tall"), (A(stack, "float64"), "stacked, float64"), (A(wide), "wide")):
        case("QR", {"a": a}, on_cpu(la.qr), odd, check="qr")
        case("SVD", {"a": a}, on_cpu(la.svd), odd, check="svd")
        case("SingularValues", {"a": a}, lambda a: la.svd(a, compute_uv=False, stream=mx.cpu), odd, lambda a: nl.svd(a, compute_uv=False))
        case("PInverse", {"a": a}, on_cpu(la.pinv), odd, nl.pinv, np_tol=1e-4)
    for a, odd in ((A(square), ""), (A(square.T, view=TURN), "strided"), (A(stack, "float64", STACK_TURN), "stacked, strided, float64"),
                   (A([[2.0]]), "one by one")):
        case("Inverse", {"a": a}, on_cpu(la.inv), odd, nl.inv, np_tol=1e-4)
        case("Det", {"a": a}, on_cpu(la.det), odd, nl.det, np_tol=1e-4)
        case("SlogDet", {"a": a}, on_cpu(la.slogdet), odd, lambda a: tuple(nl.slogdet(a)))
        case("EigenValues", {"a": a}, on_cpu(la.eigvals), odd, check="anyorder")
        case("Eig", {"a": a}, on_cpu(la.eig), odd, check="eig")
        case("LU", {"a": a}, on_cpu(la.lu), odd, check="lu")
        case("LUFactor", {"a": a}, on_cpu(la.lu_factor), odd)


def symmetric():
    a, b = positive(3, 78), np.stack([positive(3, 79), positive(3, 80)])
    lower, upper = np.tril(good(3, 81)), np.triu(good(3, 82))
    for triangle in "LU":
        half = np.tril(a) if triangle == "L" else np.triu(a)  # the other half must not be read
        word = "" if triangle == "L" else "upper half"
        np_values = lambda a, t: nl.eigvalsh(a, t)
        case("EigH", {"a": A(half), "triangle": triangle}, on_cpu(la.eigh), word, check="eigh")
        case("EigenValuesH", {"a": A(half), "triangle": triangle}, on_cpu(la.eigvalsh), word, np_values)
        case("EigH", {"a": A(b, "float64", STACK_TURN), "triangle": triangle}, on_cpu(la.eigh), "stacked, strided, float64", check="eigh")
        case("EigenValuesH", {"a": A(b, "float64", STACK_TURN), "triangle": triangle}, on_cpu(la.eigvalsh), "stacked, strided, float64", np_values)
    for up in (False, True):
        word = "upper" if up else ""
        np_chol = lambda a, up: np.swapaxes(nl.cholesky(a), -1, -2) if up else nl.cholesky(a)
        case("Cholesky", {"a": A(a), "upper": up}, on_cpu(la.cholesky), word, np_chol)
        case("Cholesky", {"a": A(b, "float64", STACK_TURN), "upper": up}, on_cpu(la.cholesky), "stacked, strided, float64", np_chol)
        tri = upper if up else lower
        case("CholeskyInverse", {"a": A(tri), "upper": up}, on_cpu(la.cholesky_inv), word,
             lambda t, up: nl.inv(t.T @ t if up else t @ t.T), np_tol=1e-4)
        case("TriInverse", {"a": A(tri), "upper": up}, on_cpu(la.tri_inv), word, lambda t, up: nl.inv(t), np_tol=1e-4)
        case("SolveTriangular", {"a": A(tri), "b": A(some(3, 2, seed=83)), "upper": up}, lambda a, b, up: la.solve_triangular(a, b, upper=up, stream=mx.cpu),
             word, lambda a, b, up: nl.solve(a, b), np_tol=1e-4)
    case("CholeskyInverse", {"a": A(np.stack([lower, lower.T.T]), "float64"), "upper": False}, on_cpu(la.cholesky_inv), "stacked, float64",
         lambda t, up: nl.inv(t @ np.swapaxes(t, -1, -2)))
    case("TriInverse", {"a": A(upper, view=TURN), "upper": False}, on_cpu(la.tri_inv), "strided", lambda t, up: nl.inv(t), np_tol=1e-4)
    case("SolveTriangular", {"a": A(upper, "float64", TURN), "b": A([1.0, 2.0, 3.0], "float64"), "upper": False},
         lambda a, b, up: la.solve_triangular(a, b, upper=up, stream=mx.cpu), "strided, a vector, float64", lambda a, b, up: nl.solve(a, b))


def solving():
    a = good(3, 84)
    case("Solve", {"a": A(a), "b": A(some(3, 2, seed=85))}, on_cpu(la.solve), np_f=nl.solve, np_tol=1e-4)
    case("Solve", {"a": A(a, view=TURN), "b": A([1.0, 2.0, 3.0])}, on_cpu(la.solve), "strided, a vector", nl.solve, np_tol=1e-4)
    case("Solve", {"a": A(np.stack([a, a + np.eye(3)]), "float64"), "b": A(some(2, 3, 1, seed=86), "float64")}, on_cpu(la.solve), "stacked, float64", nl.solve)
    x, y = some(2, 3, seed=87), some(2, 3, seed=88)
    cross = lambda a, b, axis: la.cross(a, b, axis)
    np_cross = lambda a, b, axis: np.cross(a, b, axis=axis)
    case("Cross", {"a": A(x), "b": A(y), "axis": 1}, cross, np_f=np_cross)
    case("Cross", {"a": A(x, view=TURN), "b": A(y, view=TURN), "axis": -2}, cross, "strided, negative axis", np_cross)
    case("Cross", {"a": A(x, "float16"), "b": A(y[0], "float16"), "axis": -1}, cross, "broadcast, half type", np_cross, np_tol=1e-2)
    h = lambda a, s: mx.hadamard_transform(a, s)

    def np_h(a, s):
        n = a.shape[-1]
        m = np.array([[1]])
        while len(m) < n:
            m = np.block([[m, m], [m, -m]])
        return a @ m * (1 / np.sqrt(n) if s is None else s)

    case("HadamardTransform", {"a": A(some(2, 4, seed=89)), "scale": None}, h, np_f=np_h)
    case("HadamardTransform", {"a": A(some(8, 2, seed=90), view=TURN), "scale": S(0.5)}, h, "strided, own scale", np_h)
    case("HadamardTransform", {"a": A(some(4, seed=91), "bfloat16"), "scale": S(1)}, h, "half type, whole scale", np_h, np_tol=3e-2)


def cases():
    norms()
    decompositions()
    symmetric()
    solving()
