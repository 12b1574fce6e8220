"""How a case is described, computed, checked against numpy and written."""
import json
import math
import warnings
import zlib

import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)

CASES = []
VERSIONS = {"mlx": mx.__version__, "numpy": np.__version__}
BY_NAME = {name: getattr(mx, name) for name in (
    "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex64")}
BY_NAME["bool"] = mx.bool_
NAMES = {d: name for name, d in BY_NAME.items()}
INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")


class A:
    """An array argument: base data and the views that make it strided."""

    def __init__(self, data, dtype="float32", view=()):
        base = mx.array(np.asarray(data).tolist() if not isinstance(data, mx.array) else data, dtype=BY_NAME[dtype])
        if np.asarray(data).size == 0:
            base = mx.zeros(np.asarray(data).shape, BY_NAME[dtype])
        self.base, self.view = base, list(view)

    def value(self):
        a = self.base
        for kind, *how in self.view:
            if kind == "transpose":
                a = mx.transpose(a, how[0])
            elif kind == "broadcast":
                a = mx.broadcast_to(a, how[0])
            else:
                start, stop, step = how
                a = a[tuple(slice(b, e, s) for b, e, s in zip(start, stop, step))]
        return a

    def encode(self):
        spec = encode_array(self.base)
        if self.view:
            spec["view"] = self.view
        return spec


class S:
    """A Go scalar where an operand or an optional number is expected."""

    def __init__(self, v):
        self.v = v

    def value(self):
        return self.v

    def encode(self):
        if isinstance(self.v, bool):
            return {"bool": self.v}
        if isinstance(self.v, int):
            return {"int": self.v}
        if isinstance(self.v, complex):
            return {"complex": [number(self.v.real), number(self.v.imag)]}
        return {"float": number(self.v)}


class D(str):
    """A dtype by name."""

    def value(self):
        return BY_NAME[self]

    def encode(self):
        return str(self)


def number(v):
    """A float as a JSON number, shortest first, or as a word."""
    v = float(v)
    if math.isnan(v):
        return "nan"
    if math.isinf(v):
        return "inf" if v > 0 else "-inf"
    return int(v) if v == int(v) and abs(v) < 1e6 and not (v == 0 and math.copysign(1, v) < 0) else v


def to_numpy(a):
    """numpy has no bfloat16."""
    return np.array(a.astype(mx.float32) if a.dtype == mx.bfloat16 else a)


def encode_array(a):
    mx.eval(a)
    name, flat = NAMES[a.dtype], to_numpy(a).reshape(-1)
    if name in ("float16", "bfloat16", "float32"):
        data = [number(np.format_float_scientific(np.float32(v), unique=True)) for v in flat]
    elif name == "float64":
        data = [number(v) for v in flat]
    elif name == "complex64":
        data = [[number(str(v.real)), number(str(v.imag))] for v in flat]
    else:
        data = [int(v) for v in flat]
    return {"dtype": name, "shape": list(a.shape), "data": data}


def deep(v, f):
    if isinstance(v, (A, S, D)):
        return f(v)
    if isinstance(v, list):
        return [deep(x, f) for x in v]
    return v


TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-5}


def agree(op, name, got, want, tol):
    """numpy's opinion; it computes in its own types, so only shape and values are compared."""
    assert len(got) == len(want), (op, name, len(got), len(want))
    for g, w in zip(got, want):
        t = tol or TOLERANCE.get(NAMES[g.dtype], 0)
        g, w = to_numpy(g), np.asarray(w)
        assert g.shape == w.shape, (op, name, g.shape, w.shape)
        np.testing.assert_allclose(g, w, rtol=t, atol=t, err_msg=f"{op} {name}")


def case(op, args, f, odd="", np_f=None, check="", tol=0.0, np_tol=None, **more):
    """Adds a case of operation op (its name in Go). f gets the arguments as MLX values and computes what is expected;
    np_f gets them as numpy arrays. odd says what is unusual about the case. check names how Go compares where the
    result is not unique (see vectors_check_test.go)."""
    values = {k: deep(v, lambda x: x.value()) for k, v in args.items()}
    want = f(*values.values())
    want = list(want) if isinstance(want, (list, tuple)) else [want]
    if np_f is not None:
        def plain(v):
            return to_numpy(v) if isinstance(v, mx.array) else [plain(x) for x in v] if isinstance(v, list) else v
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            theirs = np_f(*[plain(v) for v in values.values()])
        theirs = list(theirs) if isinstance(theirs, (list, tuple)) else [theirs]
        agree(op, odd, want, theirs, np_tol or tol)
    entry = {"op": op}
    if odd:
        entry["odd"] = odd
    entry["args"] = {k: deep(v, lambda x: x.encode()) for k, v in args.items()}
    entry["want"] = [encode_array(w) for w in want]
    if check:
        entry["check"] = check
    if tol:
        entry["tol"] = tol
    entry.update(more)
    CASES.append(entry)


def rng(*key):
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def some(*shape, low=-2.0, high=2.0, seed=0, digits=3):
    """Numbers with few digits, which every reader turns into the same floats."""
    return np.round(rng(shape, low, high, seed).uniform(low, high, shape), digits)


def whole(*shape, low=-5, high=6, seed=0):
    return rng(shape, low, high, seed).integers(low, high, shape)


def write(path, cases):
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    path.write_text('{"versions":%s,"cases":[\n%s\n]}\n' % (json.dumps(VERSIONS), lines))
