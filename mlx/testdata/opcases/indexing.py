"""Taking elements by index and putting them back."""
import mlx.core as mx
import numpy as np

from .core import A, case, some

TURN = [["transpose", [1, 0]]]


def taking():
    x = some(3, 4, seed=101)
    take, np_take = (lambda a, i, axis: mx.take(a, i, axis)), (lambda a, i, axis: np.take(a, i, axis))
    case("Take", {"a": A(x), "indices": A([2, 0, 2], "int32"), "axis": 0}, take, np_f=np_take)
    case("Take", {"a": A(x, view=TURN), "indices": A([[0, -1], [1, 2]], "int64"), "axis": -1}, take, "strided, negative axis, negative indices", np_take)
    case("Take", {"a": A(x, "float16"), "indices": A([1, 9, 3], "uint8", [["slice", [0], [3], [2]]]), "axis": 1}, take, "half type, strided indices", np_take)
    case("Take", {"a": A(x), "indices": A(np.zeros((0,)), "int32"), "axis": 0}, take, "no indices", np_take)
    case("Take", {"a": A(x), "indices": A(1, "uint32"), "axis": 0}, take, "0-d", np_take)
    flat = lambda a, i: mx.take(a, i)
    case("TakeFlat", {"a": A(x), "indices": A([5, 0], "uint32")}, flat, np_f=np.take)
    case("TakeFlat", {"a": A(x, view=TURN), "indices": A([[-1], [3]], "int32")}, flat, "strided, negative indices", np.take)
    idx = np.array([[1, 0, 3], [2, 2, 0], [3, 1, 1]])
    along = lambda a, i, axis: mx.take_along_axis(a, i, axis)
    case("TakeAlongAxis", {"a": A(x), "indices": A(idx, "int32"), "axis": 1}, along, np_f=np.take_along_axis)
    case("TakeAlongAxis", {"a": A(x, "bfloat16", TURN), "indices": A([[-1, 0, 1]], "int64"), "axis": -2}, along,
         "strided, broadcast, half type, negative axis, negative indices", np.take_along_axis)
    vals = some(3, 3, seed=102)
    put = lambda a, i, v, axis: mx.put_along_axis(a, i, v, axis)

    def np_put(a, i, v, axis):
        a = a.copy()
        np.put_along_axis(a, i, v, axis)
        return a

    def np_add(a, i, v, axis):
        a = a.copy()
        i, v = np.broadcast_arrays(i, v)
        at = list(np.indices(i.shape))
        at[axis] = i
        np.add.at(a, tuple(at), v)
        return a

    def add(a, i, v, axis):
        # Python has no such call; the sum goes through one-hot rows.
        i, v = mx.broadcast_arrays(i, v)
        i, v, m = mx.moveaxis(i, axis, -1), mx.moveaxis(v, axis, -1), a.shape[axis]
        hot = mx.expand_dims(i % m, -1) == mx.arange(m)
        return a + mx.moveaxis(mx.sum(mx.where(hot, mx.expand_dims(v, -1), 0), axis=-2), -1, axis).astype(a.dtype)

    one = np.array([[1, 0, 3], [2, 1, 0], [3, 1, 0]])  # no index twice in a row: the order of writing is not defined
    case("PutAlongAxis", {"a": A(x), "indices": A(one, "int32"), "values": A(vals), "axis": 1}, put, np_f=np_put)
    case("PutAlongAxis", {"a": A(x, view=TURN), "indices": A([[-1, 0, 1]], "int64"), "values": A(0.5), "axis": -2}, put,
         "strided, 0-d values, negative axis, negative indices", np_put)
    case("PutAlongAxis", {"a": A(x, "float16"), "indices": A([[2], [0], [1]], "uint32"), "values": A(vals[:, :1], "float16"), "axis": 1}, put, "half type",
         np_put)
    case("ScatterAddAxis", {"a": A(x), "indices": A(idx, "int32"), "values": A(vals), "axis": 1}, add, np_f=np_add)
    case("ScatterAddAxis", {"a": A(x, view=TURN), "indices": A([[1, 1, 0]] * 2, "uint32"), "values": A(vals[:2], view=[["slice", [0, 0], [2, 3], [1, 1]]]),
                            "axis": -2}, add, "strided, negative axis, an index twice", np_add)
    case("ScatterAddAxis", {"a": A(x, "float16"), "indices": A([[3]] * 3, "int64"), "values": A(vals[:, :1], "float16"), "axis": 1}, add, "half type", np_add)


def gathering():
    x = some(4, 3, 2, seed=103)

    def parts(a, indices, axes, sizes):
        """[indices..., sizes...]: what Gather's definition says, slice by slice."""
        indices = np.broadcast_arrays(*indices) if indices else []
        shape = indices[0].shape if indices else ()
        out = np.zeros(shape + tuple(sizes), a.dtype)
        for at in np.ndindex(*shape):
            start = [0] * a.ndim
            for i, ax in zip(indices, axes):
                start[ax] = int(i[at]) % a.shape[ax]
            out[at] = a[tuple(slice(b, b + n) for b, n in zip(start, sizes))]
        return out

    def gather(a, indices, axes, sizes):
        data = np.array(a.astype(mx.float32))
        return mx.array(parts(data, [np.array(i) for i in indices], axes, sizes)).astype(a.dtype)

    case("Gather", {"a": A(x), "indices": [A([3, 0], "int32")], "axes": [0], "sizes": [1, 3, 2]}, gather)
    case("Gather", {"a": A(x, view=[["transpose", [2, 0, 1]]]), "indices": [A([[1], [0]], "uint32"), A([2, 3, -4], "int32")], "axes": [0, 1],
                    "sizes": [1, 1, 3]}, gather, "strided, two indices, broadcast, negative indices")
    case("Gather", {"a": A(x, "float16"), "indices": [A(1, "int32")], "axes": [2], "sizes": [2, 3, 1]}, gather, "0-d index, part of an axis, half type")

    def scatter(g):
        def run(a, indices, updates, axes):
            indices = np.broadcast_arrays(*indices)
            out = a.copy()
            for at in np.ndindex(*indices[0].shape):
                start = [0] * a.ndim
                for i, ax in zip(indices, axes):
                    start[ax] = int(i[at]) % a.shape[ax]
                part = tuple(slice(b, b + n) for b, n in zip(start, updates.shape[indices[0].ndim:]))
                out[part] = g(out[part], updates[at])
            return out
        return run

    def through(g):
        run = scatter(g)

        def f(a, indices, updates, axes):
            data = [np.array(v.astype(mx.float32)) for v in (a, updates)]
            return mx.array(run(data[0], [np.array(i) for i in indices], data[1], axes)).astype(a.dtype)
        return f

    u = some(2, 1, 3, 2, seed=104)
    for op, g in (("Scatter", lambda a, u: u), ("ScatterAdd", np.add), ("ScatterProd", np.multiply), ("ScatterMax", np.maximum), ("ScatterMin", np.minimum)):
        case(op, {"a": A(x), "indices": [A([3, 0], "int32")], "updates": A(u), "axes": [0]}, through(g))
        case(op, {"a": A(x, view=[["transpose", [1, 0, 2]]]), "indices": [A([[1], [0]], "uint32"), A([2, -4, 1], "int32")],
                  "updates": A(some(3, 2, 1, 1, 2, seed=105), view=[["transpose", [1, 0, 2, 3, 4]]]), "axes": [0, 1]}, through(g),
             "strided, two indices, broadcast, negative indices")
        case(op, {"a": A(x, "float16"), "indices": [A(2, "int32")], "updates": A(u[0], "float16"), "axes": [0]}, through(g), "0-d index, half type")
        if op != "Scatter":
            case(op, {"a": A([1.0, 2.0]), "indices": [A([1, 1], "int32")], "updates": A([[3.0], [5.0]]), "axes": [0]}, through(g), "an index twice")

    def masked(a, m, src):
        """Python puts masked elements by assignment."""
        a = mx.array(a)
        a[m] = src
        return a

    def np_masked(a, m, src):
        a = a.copy()
        a[m] = src
        return a

    y = some(2, 3, seed=106)
    mask = [[True, False, True], [False, True, False]]
    case("MaskedScatter", {"a": A(y), "mask": A(mask, "bool"), "source": A([7.0, 8.0, 9.0])}, masked, np_f=np_masked)
    case("MaskedScatter", {"a": A(y, "float16", TURN), "mask": A(mask, "bool", TURN), "source": A([7.0, 8.0, 9.0], "float16")}, masked, "strided, half type",
         np_masked)
    case("MaskedScatter", {"a": A(y), "mask": A(np.zeros((2, 3)), "bool"), "source": A([1.0])}, lambda a, m, s: a, "nothing chosen", lambda a, m, s: a)


def cases():
    taking()
    gathering()
