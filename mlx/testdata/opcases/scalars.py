"""Go scalars as operands: the dtype of the result and its values for each array type, kind of scalar and side."""
import mlx.core as mx
import numpy as np

from .core import A, BY_NAME, S, encode_array

SCALARS = (True, 2, 1.5, 1 + 2j)
OPERATIONS = (("Add", mx.add), ("Div", mx.divide), ("Power", mx.power), ("Maximum", mx.maximum), ("Remainder", mx.remainder), ("Less", mx.less))
# Beyond a type's range, or negative for one without a sign.
ODD = ((300, "uint8"), (-1, "uint16"), (70000, "int16"), (2 ** 40, "int32"), (2 ** 40, "int64"), (2 ** 40, "float32"), (1e300, "float64"), (1e300, "float32"),
       (float("nan"), "float16"), (float("-inf"), "int8"), (0.1, "float64"), (0.1, "bfloat16"))


def one(op, f, dtype, scalar, left):
    a = A([0, 1, 2] if dtype != "bool" else [False, True], dtype)
    x, y = (S(scalar), a) if left else (a, S(scalar))
    try:
        want = f(x.value(), y.value())
        mx.eval(want)
    except (ValueError, RuntimeError):
        return []  # complex numbers have no order and no remainder in MLX
    if want.dtype == mx.complex64 and not np.isfinite(np.array(want)).all():
        return []  # 0 to a complex power
    entry = {"op": op, "args": {"x": x.encode(), "y": y.encode()}, "want": [encode_array(want)]}
    return [entry | {"odd": f"{dtype} with {scalar} on the {'left' if left else 'right'}"}]


def cases():
    out = []
    for op, f in OPERATIONS:
        for dtype in BY_NAME:
            for scalar in SCALARS:
                for left in (False, True):
                    out += one(op, f, dtype, scalar, left)
    for scalar, dtype in ODD:
        for left in (False, True):
            out += one("Add", mx.add, dtype, scalar, left)
    for x, y in ((1, 2), (1, 2.5), (2.5, 1), (True, 1), (True, True), (1, 1j), (2 ** 40, 1)):
        want = mx.add(x, y)
        out.append({"op": "Add", "odd": f"scalars {x} and {y}", "args": {"x": S(x).encode(), "y": S(y).encode()}, "want": [encode_array(want)]})
    return out
