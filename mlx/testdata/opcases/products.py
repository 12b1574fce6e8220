"""Matrix products."""
import mlx.core as mx
import numpy as np

from .core import A, case, some

TURN = [["transpose", [1, 0]]]


def matmul():
    x, y = some(3, 4, seed=51), some(4, 2, seed=52)
    case("MatMul", {"a": A(x), "b": A(y)}, mx.matmul, np_f=np.matmul)
    case("MatMul", {"a": A(x.T, view=TURN), "b": A(some(4, 4, seed=53), view=[["slice", [0, 0], [4, 4], [1, 3]]])}, mx.matmul, "strided", np.matmul)
    case("MatMul", {"a": A(some(2, 1, 3, 4, seed=54)), "b": A(some(5, 4, 2, seed=55))}, mx.matmul, "stacked, broadcast", np.matmul)
    case("MatMul", {"a": A(x[0]), "b": A(y)}, mx.matmul, "a vector", np.matmul)
    case("MatMul", {"a": A(np.zeros((3, 0))), "b": A(np.zeros((0, 2)))}, mx.matmul, "nothing to sum", np.matmul)
    case("MatMul", {"a": A(x, "float16"), "b": A(y, "bfloat16")}, mx.matmul, "two half types", np.matmul, np_tol=2e-2)
    case("MatMul", {"a": A(x, "float64"), "b": A(y)}, mx.matmul, "mixed types", np.matmul)
    case("MatMul", {"a": A(x + 1j, "complex64"), "b": A(y)}, mx.matmul, "complex", np.matmul)
    add = lambda c, a, b, alpha, beta: mx.addmm(c, a, b, alpha, beta)
    np_add = lambda c, a, b, alpha, beta: beta * c + alpha * (a @ b)
    case("AddMM", {"a": A(some(3, 2, seed=56)), "x": A(x), "y": A(y), "alpha": 0.5, "beta": 2.0}, add, np_f=np_add)
    case("AddMM", {"a": A([1.0, -1.0]), "x": A(x.T, view=TURN), "y": A(y.T, view=TURN), "alpha": 1.0, "beta": -1.0}, add, "broadcast, strided", np_add)
    case("AddMM", {"a": A(some(3, 2, seed=56), "float16"), "x": A(x, "float16"), "y": A(y, "float16"), "alpha": 1.0, "beta": 0.0}, add, "half type, no sum",
         np_add, np_tol=5e-3)


def vectors():
    x, y = some(3, 4, seed=57), some(2, 4, seed=58)
    case("Inner", {"a": A(x), "b": A(y)}, mx.inner, np_f=np.inner)
    case("Inner", {"a": A(x, "bfloat16", TURN), "b": A(some(3, seed=59), "bfloat16")}, mx.inner, "strided, half type", np.inner, np_tol=3e-2)
    case("Inner", {"a": A(2.0), "b": A(y)}, mx.inner, "0-d", np.inner)
    case("Outer", {"a": A(x[0]), "b": A(y[0])}, mx.outer, np_f=np.outer)
    case("Outer", {"a": A(x, view=TURN), "b": A([2, 3], "int32")}, mx.outer, "a strided matrix, mixed types", np.outer)
    dot = lambda a, b, axis: mx.vecdot(a, b, axis=axis)
    case("VecDot", {"a": A(x), "b": A(x + 1), "axis": 1}, dot, np_f=lambda a, b, axis: (a * b).sum(axis))
    case("VecDot", {"a": A(x, view=TURN), "b": A(x[:, :1].T), "axis": -1}, dot, "strided, broadcast, negative axis", lambda a, b, axis: (a * b).sum(axis))
    case("VecDot", {"a": A([1 + 2j, 1j], "complex64"), "b": A([2 - 1j, 3.0], "complex64"), "axis": 0}, dot, "complex: the first is conjugated",
         lambda a, b, axis: np.vdot(a, b))
    case("Kron", {"a": A(x[:2, :2]), "b": A(y[:, :3])}, mx.kron, np_f=np.kron)
    case("Kron", {"a": A(x[:2, :2], "float16", TURN), "b": A([1.0, 2.0], "float16")}, mx.kron, "strided, ranks differ, half type", np.kron)
    t, u = some(2, 3, 4, seed=60), some(4, 3, 2, seed=61)
    tensor = lambda a, b, i, j: mx.tensordot(a, b, [i, j])
    np_tensor = lambda a, b, i, j: np.tensordot(a, b, [i, j])
    case("TensorDot", {"a": A(t), "b": A(u), "axesA": [2], "axesB": [0]}, tensor, np_f=np_tensor)
    case("TensorDot", {"a": A(t, view=[["transpose", [1, 0, 2]]]), "b": A(u), "axesA": [0, -1], "axesB": [-2, 0]}, tensor, "strided, negative axis, two axes", np_tensor)
    case("TensorDot", {"a": A(x[0, :2]), "b": A(y[0, :2]), "axesA": [], "axesB": []}, tensor, "no axes", np_tensor)
    ein = lambda s, ops: mx.einsum(s, *ops)
    np_ein = lambda s, ops: np.einsum(s, *ops)
    case("Einsum", {"subscripts": "ij,jk->ik", "operands": [A(x), A(x, view=TURN)]}, ein, np_f=np_ein)
    case("Einsum", {"subscripts": "bij,kj,i->bk", "operands": [A(t), A(u[:, 0, 0].reshape(1, 4), "float16"), A([1.0, 2.0, 3.0])]}, ein,
         "three operands, half type", np_ein, np_tol=5e-3)
    case("Einsum", {"subscripts": "ii->i", "operands": [A(x[:3, :3], view=TURN)]}, ein, "strided diagonal", np_ein)
    case("Einsum", {"subscripts": "...i,...i", "operands": [A(x), A(x[0])]}, ein, "ellipsis, broadcast", np_ein)


def chosen():
    def masked(a, b, size, out, left, right):
        return mx.block_masked_mm(a, b, size, out, left, right)

    def np_masked(a, b, size, out, left, right):
        grow = lambda m: np.kron(m, np.ones((size, size)))
        a = a if left is None else a * grow(left)
        b = b if right is None else b * grow(right)
        return a @ b if out is None else (a @ b) * grow(out)

    column = A(np.round(np.arange(64) % 5 - 1.5, 1).reshape(64, 1), view=[["broadcast", [64, 32]]])
    row = A(np.round(np.arange(32) % 3 - 0.5, 1).reshape(1, 32), view=[["broadcast", [32, 32]]])
    case("BlockMaskedMM", {"a": column, "b": row, "blockSize": 32, "maskOut": A([[True], [False]], "bool"), "maskLeft": None, "maskRight": None}, masked,
         np_f=np_masked)
    case("BlockMaskedMM", {"a": column, "b": row, "blockSize": 32, "maskOut": None, "maskLeft": A([[0.5], [2.0]]), "maskRight": A([[3.0]])}, masked,
         "scales as masks, strided", np_masked)
    m, n = some(3, 2, 4, seed=64), some(2, 4, 3, seed=65)
    gather = lambda a, b, i, j: mx.gather_mm(a, b, i, j)
    np_gather = lambda a, b, i, j: (a if i is None else a[i]) @ (b if j is None else b[j])
    case("GatherMM", {"a": A(m), "b": A(n), "leftIndices": A([2, 0], "uint32"), "rightIndices": A([1, 1], "uint32")}, gather, np_f=np_gather)
    case("GatherMM", {"a": A(m, view=[["slice", [0, 0, 0], [3, 2, 4], [2, 1, 1]]]), "b": A(n), "leftIndices": None, "rightIndices": A([[0], [1], [1]], "int32")},
         lambda a, b, i, j: mx.gather_mm(a, b, i, j), "strided, only one side, broadcast", lambda a, b, i, j: a @ b[j])
    case("GatherMM", {"a": A(m), "b": A(n), "leftIndices": A([0, 2, 1], "uint32", [["slice", [0], [3], [2]]]), "rightIndices": A(1, "uint32")}, gather,
         "strided and 0-d indices", lambda a, b, i, j: a[i] @ b[j])
    s, t = some(2, 6, seed=66), some(6, 3, seed=67)
    seg = lambda a, b, s: mx.segmented_mm(a, b, s)
    np_seg = lambda a, b, s: np.stack([a[:, i:j] @ b[i:j] for i, j in s.reshape(-1, 2)]).reshape(s.shape[:-1] + (a.shape[0], b.shape[1]))
    case("SegmentedMM", {"a": A(s), "b": A(t), "segments": A([[0, 2], [2, 6]], "uint32")}, seg, np_f=np_seg)
    case("SegmentedMM", {"a": A(s.T, view=TURN), "b": A(t), "segments": A([[[1, 5]], [[3, 3]]], "uint32")}, seg, "strided, an empty segment", np_seg)
    case("SegmentedMM", {"a": A(s, "float16"), "b": A(t, "float16"), "segments": A([[0, 6]], "uint32")}, seg, "half type", np_seg, np_tol=5e-3)


def cases():
    matmul()
    vectors()
    chosen()
