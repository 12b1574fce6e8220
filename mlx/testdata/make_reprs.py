"""Makes reprs.json: arrays and how numpy prints them, for format_test.go.

    python -m venv venv && venv/bin/pip install -r requirements.txt && venv/bin/python make_reprs.py

numpy leaves the dtype out where it is clear to a Python reader; here it is always asked for.
"""
import base64
import hashlib
import json
import pathlib

import numpy as np
from numpy._core import arrayprint

arrayprint.dtype_is_implied = lambda dtype: False

cases = []


def case(name, values, dtype=None, shape=None):
    a = np.asarray(values, dtype=dtype)
    if shape is not None:
        a = a.reshape(shape)
    cases.append({
        "name": name, "dtype": a.dtype.name, "shape": list(a.shape),
        "data": base64.b64encode(np.ascontiguousarray(a).tobytes()).decode(), "repr": repr(a),
    })


rng = np.random.default_rng(7)
INT = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
FLOAT = ["float16", "float32", "float64"]
nan, inf = np.nan, np.inf

for t in INT:
    info = np.iinfo(t)
    case(f"{t} limits", [info.min, 0, 7, info.max], t)
case("bool", [True, False, True])
case("bool matrix", [[True, False], [False, False]])
case("bool scalar", True)
case("false scalar", False)
case("int scalar", -7, "int32")
case("documentation", [[1, 2], [3, 4]], "int32")
case("int cube", np.arange(24) - 5, "int32", (2, 3, 4))
case("four axes", np.arange(16), "int16", (2, 2, 2, 2))
case("long row wraps", np.arange(100), "int64")
case("wide rows wrap", np.arange(120) * 1000, "int32", (3, 40))
case("deep rows wrap", np.arange(90) * 1000, "int32", (1, 1, 3, 30))
case("dtype on a line of its own", np.arange(15) * 100, "int32")
case("dtype just fits", np.arange(13) * 100, "uint16")
case("one column", np.arange(5), "int8", (5, 1))

for t in FLOAT:
    case(f"{t} whole", [1, 2, 3], t)
    case(f"{t} mixed", [1, 2.5, -3.25], t)
    case(f"{t} thirds", np.array([1, 2, 5, -4]) / 3, t)
    case(f"{t} scalar", 1.5, t)
    case(f"{t} scalar third", 1 / 3, t)
    case(f"{t} zero", 0.0, t)
    case(f"{t} negative zero", [-0.0, 0.0, 1.0], t)
    case(f"{t} special", [nan, inf, -inf, 1.5], t)
    case(f"{t} nan only", [nan, nan], t)
    case(f"{t} inf and zero", [inf, 0.0], t)
    case(f"{t} minus inf", [-inf, 10.25], t)
    case(f"{t} nan scalar", nan, t)
    case(f"{t} ratio of 1000", [0.5, 500], t)
    case(f"{t} ratio over 1000", [0.5, 501], t)
    case(f"{t} small", [0.00009, 0.5, -2.5e-5], t)
    case(f"{t} border of small", [0.0001, 0.01], t)
    case(f"{t} exponent with special", [1e-5, nan, -inf], t)
    case(f"{t} empty", [], t)
    case(f"{t} normal", rng.normal(size=(3, 4)), t)
    case(f"{t} ones", np.ones((2, 2)), t)

case("float16 thousand", [999, 1], "float16")
case("float16 over thousand", [1000, 1], "float16")
case("float16 largest", [65504, 6e-8], "float16")
case("float32 million", [999999, 1000.5], "float32")
case("float32 over million", [1e6, 1e6 + 1], "float32")
case("float32 limits", [np.finfo("f4").max, np.finfo("f4").tiny, 1e-45], "float32")
case("float32 pi", np.pi, "float32")
case("float32 long fraction", [0.1234567891, 0.000123456789], "float32")
case("float32 shortest digits have another exponent", [9.80909e-45, -0.00123], "float32")
case("float32 negative exponents", [-1e-20, 1e-7], "float32")
case("float64 hundred million", [99999999.0, 100000.5], "float64")
case("float64 over hundred million", [1e8, 123456789.123], "float64")
case("float64 three digit exponents", [1e-300, 1e5, -1e300], "float64")
case("float64 limits", [np.finfo("f8").max, np.finfo("f8").tiny, 5e-324], "float64")
case("float64 rounded to even", [0.000000005, 0.5, 0.123456785, 0.25], "float64")
case("float64 digits", [np.pi, np.e, 1e-4], "float64")
case("float64 long row", rng.normal(size=40), "float64")
case("float32 rows wrap", rng.normal(size=(2, 17)), "float32")

case("complex", [1 + 2j, -0.5 - 0.25j], "complex64")
case("complex special", [complex(nan, inf), complex(-inf, nan), 1 - 1j], "complex64")
case("complex nan only", [complex(nan, nan)], "complex64")
case("complex scalar", 1.5 - 2j, "complex64")
case("complex exponent", [1e-10 + 1e10j, 2 - 3j], "complex64")
case("complex whole", [1 + 1j, 10 - 100j], "complex64")
case("complex zero", [0j, complex(-0.0, -0.0)], "complex64")
case("complex matrix", rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2)), "complex64")

case("empty matrix", np.zeros((0, 3)), "float32")
case("empty in the middle", np.zeros((2, 0, 3)), "int32")
case("empty bool", [], "bool")

case("thousand", np.arange(1000), "int16")
case("thousand and one", np.arange(1001), "int32")
case("large matrix", np.arange(2000), "int32", (40, 50))
case("large and narrow", np.arange(1200), "int32", (300, 4))
case("large and low", np.arange(1200), "int32", (4, 300))
case("large cube", rng.normal(size=(12, 5, 20)), "float32")
case("large with short axes", np.arange(1296), "int32", (6, 6, 6, 6))
case("large, one axis over the edge", np.arange(1344), "int32", (7, 6, 4, 8))
case("large bool", np.arange(1500) % 3 == 0)
outlier = np.ones(3000)
outlier[1500] = 1e12
case("large, outlier not shown", outlier, "float32")
case("large complex", np.arange(1200) * (1 + 0.5j), "complex64")

# All float16 numbers, one by one: only a digest is kept.
halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
lines = "\n".join(str(np.array2string(h)) for h in halves)
# The shortest digits of float32 and float64 numbers of all sizes: bit patterns that the test computes too.
words = np.arange(1, 20001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
singles = (words >> np.uint64(32)).astype(np.uint32).view(np.float32)
doubles = words.view(np.float64)
digests = {
    "float16": hashlib.sha256(lines.encode()).hexdigest(),
    "float32": hashlib.sha256("\n".join(np.array2string(v) for v in singles).encode()).hexdigest(),
    "float64": hashlib.sha256("\n".join(np.array2string(v) for v in doubles).encode()).hexdigest(),
}
out = {"numpy": np.__version__, "cases": cases, "digests": digests}
pathlib.Path(__file__).with_name("reprs.json").write_text(json.dumps(out, indent=1) + "\n")
print(len(cases), "cases")
