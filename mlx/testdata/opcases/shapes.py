"""Shape, type and views."""
import mlx.core as mx
import numpy as np

from .core import A, D, S, case, some, whole

TURN = [["transpose", [1, 0]]]


def both(op, args, f, g, odd=""):
    case(op, args, f, odd, g)


def reshaping():
    x = some(2, 6, seed=21)
    strided, empty, scalar = A(x, view=TURN), A(np.zeros((0, 2))), A(1.5)
    for a, shape, odd in ((A(x), [3, 4], ""), (strided, [4, -1], "strided, size left open"), (empty, [2, 0], "empty"), (scalar, [1, 1], "0-d"),
                          (A([[7]], "int8"), [], "to 0-d")):
        both("Reshape", {"a": a, "shape": shape}, mx.reshape, np.reshape, odd)
    y = some(2, 3, 2, seed=22)
    flat = lambda a, b, e: mx.flatten(a, b, e)
    np_flat = lambda a, b, e: a.reshape(a.shape[:b % a.ndim] + (-1,) + a.shape[e % a.ndim + 1:]) if a.ndim else a.reshape(1)
    for a, b, e, odd in ((A(y), 0, 1, ""), (A(y, view=[["transpose", [2, 0, 1]]]), -2, -1, "strided, negative axis"), (scalar, 0, -1, "0-d"),
                         (A(y), 1, 1, "one axis")):
        both("Flatten", {"a": a, "start": b, "end": e}, flat, np_flat, odd)
    unflat = lambda a, ax, s: mx.unflatten(a, ax, s)
    np_unflat = lambda a, ax, s: a.reshape(a.shape[:ax % a.ndim] + tuple(s) + a.shape[ax % a.ndim + 1:])
    both("Unflatten", {"a": A(x), "axis": 1, "shape": [2, 3]}, unflat, np_unflat)
    both("Unflatten", {"a": strided, "axis": -2, "shape": [-1, 3]}, unflat, np_unflat, "strided, negative axis, size left open")
    z = some(1, 3, 1, seed=23)
    squeeze, np_squeeze = (lambda a, ax: mx.squeeze(a, ax or None)), (lambda a, ax: np.squeeze(a, tuple(ax) or None))
    both("Squeeze", {"a": A(z), "axes": [0]}, squeeze, np_squeeze)
    both("Squeeze", {"a": A(z, "float16", [["transpose", [1, 0, 2]]]), "axes": [-1, 1]}, squeeze, np_squeeze, "strided, half type, negative axis")
    both("Squeeze", {"a": A(z), "axes": []}, squeeze, np_squeeze, "all axes")
    both("Squeeze", {"a": scalar, "axes": []}, squeeze, np_squeeze, "0-d")
    expand, np_expand = (lambda a, ax: mx.expand_dims(a, ax)), (lambda a, ax: np.expand_dims(a, tuple(ax)))
    both("ExpandDims", {"a": A(x), "axes": [1]}, expand, np_expand)
    both("ExpandDims", {"a": strided, "axes": [-1, 0]}, expand, np_expand, "strided, negative axis")
    both("ExpandDims", {"a": scalar, "axes": [0, 1]}, expand, np_expand, "0-d")


def order():
    x, y = some(2, 3, seed=24), some(2, 3, 4, seed=25)
    strided = A(y, view=[["slice", [0, 0, 0], [2, 3, 4], [1, 2, 1]]])
    both("T", {"a": A(x)}, mx.transpose, np.transpose)
    both("T", {"a": strided}, mx.transpose, np.transpose, "strided")
    both("T", {"a": A(2.0)}, mx.transpose, np.transpose, "0-d")
    turn, np_turn = (lambda a, ax: mx.transpose(a, ax or None)), (lambda a, ax: np.transpose(a, ax or None))
    both("Transpose", {"a": A(y), "axes": [1, 2, 0]}, turn, np_turn)
    both("Transpose", {"a": strided, "axes": [-1, 0, -2]}, turn, np_turn, "strided, negative axis")
    both("Transpose", {"a": A(y, "bfloat16"), "axes": []}, turn, np_turn, "no axes, half type")
    both("MatrixTranspose", {"a": A(y)}, mx.matrix_transpose, lambda a: np.swapaxes(a, -1, -2))
    both("MatrixTranspose", {"a": A(np.zeros((0, 2)))}, mx.matrix_transpose, lambda a: np.swapaxes(a, -1, -2), "empty")
    for op, f, g, names in (("SwapAxes", mx.swapaxes, np.swapaxes, ("axis1", "axis2")), ("MoveAxis", mx.moveaxis, np.moveaxis, ("source", "destination"))):
        both(op, {"a": A(y), names[0]: 0, names[1]: 2}, f, g)
        both(op, {"a": strided, names[0]: -1, names[1]: -3}, f, g, "strided, negative axis")
    flip, np_flip = (lambda a, ax: mx.flip(a, ax or None)), (lambda a, ax: np.flip(a, ax or None))
    both("Flip", {"a": A(x), "axes": [1]}, flip, np_flip)
    both("Flip", {"a": strided, "axes": [-1, 0]}, flip, np_flip, "strided, negative axis")
    both("Flip", {"a": A(x), "axes": []}, flip, np_flip, "all axes")
    roll, np_roll = (lambda a, n, ax: mx.roll(a, n, ax or None)), (lambda a, n, ax: np.roll(a, n, tuple(ax) or None))
    both("Roll", {"a": A(x), "shift": 1, "axes": [1]}, roll, np_roll)
    both("Roll", {"a": A(x, view=TURN), "shift": -7, "axes": [-2]}, roll, np_roll, "strided, negative axis, beyond the size")
    both("Roll", {"a": A(x, "float16"), "shift": 2, "axes": []}, roll, np_roll, "no axes, half type")


def joining():
    x, y = some(2, 3, seed=26), some(2, 3, seed=27)
    wide = A(x[0], view=[["broadcast", [2, 3]]])
    both("BroadcastTo", {"a": A(x[0]), "shape": [2, 3]}, mx.broadcast_to, np.broadcast_to)
    both("BroadcastTo", {"a": A(x[:, :1].T, view=TURN), "shape": [4, 2, 3]}, mx.broadcast_to, np.broadcast_to, "strided")
    both("BroadcastTo", {"a": A(1.0, "float16"), "shape": [0, 2]}, mx.broadcast_to, np.broadcast_to, "0-d, half type, empty")
    lists = lambda f: lambda arrays: f(*arrays)
    both("BroadcastArrays", {"arrays": [A(x), A(y[0])]}, lists(mx.broadcast_arrays), lists(np.broadcast_arrays))
    both("BroadcastArrays", {"arrays": [A(x[:, :1], "int32"), A(2.0), A(y)]}, lists(mx.broadcast_arrays), lists(np.broadcast_arrays),
         "mixed types, 0-d")
    for op, f, g in (("Concatenate", mx.concatenate, np.concatenate), ("Stack", mx.stack, np.stack)):
        both(op, {"arrays": [A(x), A(y)], "axis": 0}, f, g)
        both(op, {"arrays": [A(x.T, view=TURN), wide, A(y, "bfloat16")], "axis": -1}, f, g, "strided, broadcast, mixed types, negative axis")
        both(op, {"arrays": [A(np.zeros((0, 3))), A(np.zeros((0, 3)))], "axis": 1}, f, g, "empty")
        both(op, {"arrays": [A(x)], "axis": 0}, f, g, "one array")
    both("MeshGrid", {"arrays": [A([1.0, 2.0, 3.0]), A([4.0, 5.0])], "sparse": False, "indexing": "xy"},
         lambda a, s, i: mx.meshgrid(*a, sparse=s, indexing=i), lambda a, s, i: np.meshgrid(*a, sparse=s, indexing=i))
    both("MeshGrid", {"arrays": [A([1.0, 2.0, 3.0], view=[["slice", [0], [3], [2]]]), A([4.0]), A([5.0, 6.0])], "sparse": True, "indexing": "ij"},
         lambda a, s, i: mx.meshgrid(*a, sparse=s, indexing=i), lambda a, s, i: np.meshgrid(*a, sparse=s, indexing=i), "sparse, ij, strided")
    both("Depends", {"inputs": [A(x), A(y)], "dependencies": [A([1.0])]}, mx.depends, lambda a, b: a)
    both("Depends", {"inputs": [A(x, view=TURN)], "dependencies": [A([]), A(2.0)]}, mx.depends, lambda a, b: a, "strided; empty and 0-d dependencies")


def cutting():
    x = some(4, 6, seed=28)
    strided = A(x, view=TURN)
    both("Split", {"a": A(x), "n": 2, "axis": 0}, mx.split, np.split)
    both("Split", {"a": strided, "n": 3, "axis": -2}, mx.split, np.split, "strided, negative axis")
    both("SplitAt", {"a": A(x), "indices": [1, 3], "axis": 0}, mx.split, np.split)
    both("SplitAt", {"a": strided, "indices": [-2], "axis": -1}, mx.split, np.split, "strided, negative axis, negative index")
    both("SplitAt", {"a": A(x), "indices": [], "axis": 1}, mx.split, np.split, "no cut")
    both("SplitAt", {"a": A(x), "indices": [0, 0, 6], "axis": 1}, mx.split, np.split, "empty parts")
    unstack = lambda a, axis: mx.unstack(a, axis=axis)
    np_unstack = lambda a, axis: list(np.moveaxis(a, axis, 0))
    both("Unstack", {"a": A(x[:2]), "axis": 0}, unstack, np_unstack)
    both("Unstack", {"a": A(x[:2], "float16", TURN), "axis": -1}, unstack, np_unstack, "strided, half type, negative axis")
    both("Repeat", {"a": A(x[:2, :2]), "n": 2, "axis": 0}, mx.repeat, np.repeat)
    both("Repeat", {"a": strided, "n": 3, "axis": -1}, mx.repeat, np.repeat, "strided, negative axis")
    both("Repeat", {"a": A(x[:2, :2], "int32"), "n": 0, "axis": 1}, mx.repeat, np.repeat, "empty result")
    both("Tile", {"a": A(x[:2, :2]), "reps": [2, 1]}, mx.tile, np.tile)
    both("Tile", {"a": A(x[:2, :3], view=TURN), "reps": [2]}, mx.tile, np.tile, "strided, fewer repetitions than axes")
    both("Tile", {"a": A(1.5), "reps": [2, 3]}, mx.tile, np.tile, "0-d, more repetitions than axes")


def padding():
    x = some(2, 3, seed=29)

    def pad(a, axes, low, high, value, mode):
        widths = [(0, 0)] * a.ndim
        for i, ax in enumerate(axes):
            widths[ax] = (low[i], high[i])
        return mx.pad(a, widths, mode=mode, constant_values=value)

    def np_pad(a, axes, low, high, value, mode):
        widths = [(0, 0)] * a.ndim
        for i, ax in enumerate(axes):
            widths[ax] = (low[i], high[i])
        return np.pad(a, np.array(widths, int).reshape(-1, 2) if widths else 0, mode=mode, **({"constant_values": value} if mode == "constant" else {}))

    def one(a, axes, low, high, value, mode, odd=""):
        both("Pad", {"a": a, "axes": axes, "low": low, "high": high, "value": value, "mode": mode}, pad, np_pad, odd)

    one(A(x), [0, 1], [1, 0], [0, 2], S(1.5), "constant")
    one(A(x, view=TURN), [-1], [2], [1], S(0), "edge", "edge, strided, negative axis")
    one(A(x, "bfloat16"), [1], [2], [1], S(0), "reflect", "reflect, half type")
    one(A(x), [1], [2], [3], S(0), "symmetric", "symmetric")
    one(A(np.zeros((0, 2))), [0], [1], [1], A(7.0), "constant", "empty, an array as value")
    one(A(5, "int32"), [], [], [], S(0), "constant", "0-d")


def slicing():
    x, u = some(4, 5, seed=30), some(2, 2, seed=31)
    cut = lambda a, b, e: a[tuple(slice(i, j) for i, j in zip(b, e))]
    step = lambda a, b, e, s: a[tuple(slice(i, j, k) for i, j, k in zip(b, e, s))]
    both("Slice", {"a": A(x), "start": [1, 0], "stop": [3, 4]}, cut, cut)
    both("Slice", {"a": A(x, view=TURN), "start": [-3, -2], "stop": [5, -1]}, cut, cut, "strided, negative bounds")
    both("Slice", {"a": A(x), "start": [2, 3], "stop": [2, 99]}, cut, cut, "empty result, stop beyond the end")
    both("SliceStep", {"a": A(x), "start": [0, 1], "stop": [4, 5], "strides": [2, 3]}, step, step)
    both("SliceStep", {"a": A(x, "float16", TURN), "start": [4, 3], "stop": [0, -9], "strides": [-2, -1]}, step, lambda a, b, e, s: a[4:0:-2, ::-1],
         "strided, half type, negative steps")
    along = lambda a, axis, b, e: a[tuple([slice(None)] * (axis % a.ndim) + [slice(b, e)])]
    both("sliceAxis", {"a": A(x), "axis": 0, "start": 1, "stop": 3}, along, along)
    both("sliceAxis", {"a": A(x, view=TURN), "axis": -1, "start": -2, "stop": 4}, along, along, "strided, negative axis, negative bound")
    pick = lambda a, axis, i: a[tuple([slice(None)] * (axis % a.ndim) + [i])]
    both("Select", {"a": A(x), "axis": 1, "index": 2}, pick, pick)
    both("Select", {"a": A(x, "bfloat16", TURN), "axis": -1, "index": -1}, pick, pick,
         "strided, half type, negative axis, negative index")

    def np_update(g):
        def run(a, u, b, e):
            a = a.copy()
            at = tuple(slice(i, j) for i, j in zip(b, e))
            a[at] = g(a[at], u)
            return a
        return run

    at = lambda a, b, e: a.at[tuple(slice(i, j) for i, j in zip(b, e))]

    def replace(a, u, b, e):
        a = mx.array(a)
        a[tuple(slice(i, j) for i, j in zip(b, e))] = u
        return a

    for op, f, g in (("SliceUpdate", replace, lambda a, u: u),
                     ("SliceUpdateAdd", lambda a, u, b, e: at(a, b, e).add(u), np.add),
                     ("SliceUpdateProd", lambda a, u, b, e: at(a, b, e).multiply(u), np.multiply),
                     ("SliceUpdateMax", lambda a, u, b, e: at(a, b, e).maximum(u), np.maximum),
                     ("SliceUpdateMin", lambda a, u, b, e: at(a, b, e).minimum(u), np.minimum)):
        both(op, {"a": A(x), "update": A(u), "start": [1, 2], "stop": [3, 4]}, f, np_update(g))
        both(op, {"a": A(x, view=TURN), "update": A(u, view=TURN), "start": [-2, 0], "stop": [5, 2]}, f, np_update(g), "strided, negative bound")
        both(op, {"a": A(x, "float16"), "update": A(u[0], "float16"), "start": [0, 0], "stop": [4, 2]}, f, np_update(g), "broadcast, half type")
        both(op, {"a": A(x), "update": A(np.zeros((0, 5))), "start": [2, 0], "stop": [2, 5]}, f, np_update(g), "empty part")


def types():
    x = some(2, 3, seed=32)
    strided_view = lambda a, shape, strides, offset: mx.as_strided(a, shape, strides, offset)
    np_view = lambda a, shape, strides, offset: np.lib.stride_tricks.as_strided(
        np.ascontiguousarray(a).reshape(-1)[offset:], shape, [4 * s for s in strides])
    both("AsStrided", {"a": A(x), "shape": [2, 2], "strides": [3, 1], "offset": 1}, strided_view, np_view)
    both("AsStrided", {"a": A(x, view=TURN), "shape": [3, 2, 2], "strides": [1, 0, 2], "offset": 0}, strided_view, np_view, "strided, broadcast")
    cast = lambda a, d: a.astype(d)
    values = [-1.5, 0.0, 2.7, 300.0]
    case("AsType", {"a": A(values), "dtype": D("int32")}, cast, np_f=lambda a, d: a.astype(np.int32))
    for d in ("float16", "bfloat16", "float64", "complex64", "bool", "int64", "int8"):
        case("AsType", {"a": A(values[:3], view=[["slice", [0], [3], [2]]]), "dtype": D(d)}, cast, "strided, to " + d)
    case("AsType", {"a": A([1.5 - 2j], "complex64"), "dtype": D("float32")}, cast, "the real part of complex numbers")
    case("AsType", {"a": A([True, False], "bool"), "dtype": D("bfloat16")}, cast, "Booleans, half type")
    case("AsType", {"a": A([], "int32"), "dtype": D("float16")}, cast, "empty, half type")
    see = lambda a, d: a.view(d)
    case("View", {"a": A([1.0, -2.0]), "dtype": D("int32")}, see, np_f=lambda a, d: a.view(np.int32))
    case("View", {"a": A([[1.0, -2.0], [0.5, 3.0]], view=TURN), "dtype": D("uint8")}, see, "strided, smaller type",
         lambda a, d: np.ascontiguousarray(a).view(np.uint8))
    case("View", {"a": A([1.0, 2.0, -3.0, 0.5], "bfloat16"), "dtype": D("uint32")}, see, "half type, larger type")
    for op, f in (("Contiguous", mx.contiguous), ("Copy", lambda a: mx.array(a))):
        both(op, {"a": A(x)}, f, lambda a: a)
        both(op, {"a": A(x, view=[["transpose", [1, 0]], ["slice", [0, 0], [3, 2], [2, 1]]])}, f, lambda a: a, "strided")
        both(op, {"a": A(x[0], "float16", [["broadcast", [2, 3]]])}, f, lambda a: a, "broadcast, half type")
        both(op, {"a": A(3, "int64")}, f, lambda a: a, "0-d")
        both(op, {"a": A([])}, f, lambda a: a, "empty")
    for op, f, g in (("AtLeast1D", mx.atleast_1d, np.atleast_1d), ("AtLeast2D", mx.atleast_2d, np.atleast_2d), ("AtLeast3D", mx.atleast_3d, np.atleast_3d)):
        both(op, {"a": A(whole(3), "int16")}, f, g)
        both(op, {"a": A(1.5, "float16")}, f, g, "0-d, half type")
        both(op, {"a": A(x, view=TURN)}, f, g, "strided")


def cases():
    reshaping()
    order()
    joining()
    cutting()
    padding()
    slicing()
    types()
