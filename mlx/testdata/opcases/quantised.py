"""Few-bit weights."""
import mlx.core as mx
import numpy as np

from .core import A, D, S, case, some

TURN = [["transpose", [1, 0]]]


def matrix(rows, columns, seed):
    return some(rows, columns, seed=seed, digits=1)


def packed(a):
    return np.array(a)


def stored(w, group, bits, mode="affine"):
    """The parts that Quantize gives, as arguments."""
    parts = mx.quantize(mx.array(w.astype(np.float32)), group, bits, mode)
    names = {mx.float32: "float32", mx.uint32: "uint32", mx.uint8: "uint8"}
    return [A(np.array(p), names[p.dtype]) for p in parts] + [None] * (3 - len(parts))


def packing():
    quantize = lambda a, g, b, m: mx.quantize(a, g, b, m)
    w = matrix(2, 64, 161)
    case("Quantize", {"a": A(w), "groupSize": S(32), "bits": S(4), "mode": "affine"}, quantize)
    case("Quantize", {"a": A(w), "groupSize": None, "bits": None, "mode": "affine"}, quantize, "sizes left to MLX")
    case("Quantize", {"a": A(w.T, "float16", TURN), "groupSize": S(64), "bits": S(8), "mode": "affine"}, quantize, "strided, half type, 8 bits")
    case("Quantize", {"a": A(w), "groupSize": S(32), "bits": S(4), "mode": "mxfp4"}, quantize, "mxfp4: no biases")

    def undo(w, s, b, g, n, m):
        return mx.dequantize(w, s, b, g, n, m)

    def np_undo(w, s, b, g, n, m):
        w = w.astype(np.uint32)
        per = 32 // n
        codes = (w[..., None] >> (np.arange(per) * n).astype(np.uint32) & (2 ** n - 1)).reshape(w.shape[0], -1)
        return codes * np.repeat(s, g, 1) + np.repeat(b, g, 1)

    parts = stored(w, 32, 4)
    names = ("weight", "scales", "biases")
    case("Dequantize", {**dict(zip(names, parts)), "groupSize": S(32), "bits": S(4), "mode": "affine"}, undo, np_f=np_undo)
    case("Dequantize", {**dict(zip(names, stored(w, 64, 2))), "groupSize": S(64), "bits": S(2), "mode": "affine"}, undo, "2 bits", np_undo)
    case("Dequantize", {**dict(zip(names, stored(w, 32, 4, "mxfp4"))), "groupSize": S(32), "bits": S(4), "mode": "mxfp4"}, undo, "mxfp4: no biases")

    times = lambda x, w, s, b, t, g, n, m: mx.quantized_matmul(x, w, s, b, t, g, n, m)

    def np_times(x, w, s, b, t, g, n, m):
        full = np_undo(w, s, b, g, n, m)
        return x @ (full.T if t else full)

    tail = {"groupSize": S(32), "bits": S(4), "mode": "affine"}
    case("QuantizedMatMul", {"x": A(matrix(3, 64, 162)), **dict(zip(names, parts)), "transpose": True, **tail}, times, np_f=np_times, np_tol=1e-4)
    case("QuantizedMatMul", {"x": A(matrix(2, 3, 163), view=TURN), **dict(zip(names, parts)), "transpose": False, **tail}, times,
         "strided, not transposed", np_times, np_tol=1e-4)
    case("QuantizedMatMul", {"x": A(matrix(1, 64, 164), "float16"), **dict(zip(names, parts)), "transpose": True, **tail}, times, "mixed types, one row",
         np_times, np_tol=1e-3)
    stack = np.stack([w, w[::-1] * 0.5])
    parts = [A(np.array(p), "uint32" if p.dtype == mx.uint32 else "float32") for p in mx.quantize(mx.array(stack.astype(np.float32)), 32, 4)]
    chosen = lambda x, w, s, b, i, j, t, g, n, m: mx.gather_qmm(x, w, s, b, i, j, t, g, n, m)
    gather = {**dict(zip(names, parts))}
    case("GatherQuantizedMatMul", {"x": A(some(2, 1, 64, seed=165, digits=1)), **gather, "leftIndices": A([1, 0, 1], "uint32"),
                                   "rightIndices": A([0, 0, 1], "uint32"), "transpose": True, **tail}, chosen)
    case("GatherQuantizedMatMul", {"x": A(some(2, 1, 64, seed=165, digits=1)), **gather, "leftIndices": None, "rightIndices": A([1, 0], "uint32"),
                                   "transpose": True, **tail}, chosen, "one side only")


def small_floats():
    values = [0.0, 1.0, -1.5, 0.1, 300.0, 448.0, -1000.0, 2.0 ** -9]
    case("ToFP8", {"a": A(values)}, mx.to_fp8)
    case("ToFP8", {"a": A(values[:4], "bfloat16", [["slice", [0], [4], [2]]])}, mx.to_fp8, "strided, half type")

    def decode(a, d):
        a = a.astype(int)
        sign, e, f = np.where(a & 128, -1.0, 1.0), a >> 3 & 15, a & 7
        v = np.where(e == 0, f / 8 * 2.0 ** -6, (1 + f / 8) * 2.0 ** (e - 7.0))
        return sign * np.where((e == 15) & (f == 7), np.nan, v)

    codes = [0, 1, 7, 8, 56, 60, 126, 129, 184, 254]
    case("FromFP8", {"a": A(codes, "uint8"), "dtype": D("float32")}, mx.from_fp8, np_f=decode)
    case("FromFP8", {"a": A([codes, codes], "uint8", TURN), "dtype": D("float16")}, mx.from_fp8, "strided, half type", decode)


def cases():
    packing()
    small_floats()
