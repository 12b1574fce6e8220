"""Makes the folder files: files of other libraries for files_test.go, with what is in them in files.json.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make_files.py
"""
import base64
import json
import pathlib
import shutil
import struct

import gguf
import mlx.core as mx
import numpy as np
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).with_name("files")
shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir()
rng = np.random.default_rng(3)
contents = {}


def describe(a, dtype=None):
    a = np.asarray(a)
    return {"dtype": dtype or a.dtype.name, "shape": list(a.shape),
            "data": base64.b64encode(a.astype(a.dtype.newbyteorder("<")).tobytes()).decode()}


def npy(name, a, version=None):
    with open(FOLDER / f"{name}.npy", "wb") as f:
        np.lib.format.write_array(f, a, version=version)
    contents[f"{name}.npy"] = {"arrays": {"": describe(a)}, "meta": {}}


for t in ["bool", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8"]:
    npy("dtype_" + t, (rng.normal(size=(2, 3)) * 50 + 50).astype(t))
npy("scalar", np.float32(2.5))
npy("empty", np.zeros((0, 3), "int32"))
npy("columns", np.asfortranarray(np.arange(12, dtype="float32").reshape(3, 4)))
npy("columns_cube", np.asfortranarray(np.arange(24, dtype="int16").reshape(2, 3, 4)))
npy("big_endian", np.arange(6, dtype=">f4").reshape(2, 3))
npy("big_endian_complex", (np.arange(3) + 2j).astype(">c8"))
npy("version2", np.arange(5), version=(2, 0))
npy("version3", np.arange(5), version=(3, 0))
mx.save(str(FOLDER / "from_mlx.npy"), mx.arange(10).reshape(2, 5))
contents["from_mlx.npy"] = {"arrays": {"": describe(np.arange(10, dtype="int32").reshape(2, 5))}, "meta": {}}
halves = mx.array([1.5, -2.25, 3e38]).astype(mx.bfloat16)
mx.save(str(FOLDER / "from_mlx_bfloat16.npy"), halves)
contents["from_mlx_bfloat16.npy"] = {"arrays": {"": describe(np.array(halves.view(mx.uint16)), "bfloat16")}, "meta": {}}

arrays = {"model.weight": rng.normal(size=(3, 2)).astype("f4"), "a \"name\" <&> with é 語": np.arange(4, dtype="f4"), "": np.zeros(1, "f4")}
meta = {"format": "np", "ключ": "a value\nof two lines <&>"}
save_file(arrays, FOLDER / "library.safetensors", meta)
contents["library.safetensors"] = {"arrays": {k: describe(v) for k, v in arrays.items()}, "meta": meta}
mixed = {t: (rng.normal(size=3) * 9 + 9).astype(t) for t in ["bool", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8"]}
mixed |= {"scalar": np.float64(7.25), "empty": np.zeros((2, 0), "f4")}
save_file({k: np.asarray(v) for k, v in mixed.items()}, FOLDER / "dtypes.safetensors")
contents["dtypes.safetensors"] = {"arrays": {k: describe(v) for k, v in mixed.items()}, "meta": {}}
mx.save_safetensors(str(FOLDER / "from_mlx.safetensors"), {"x": mx.arange(3), "half": halves, "byte": mx.array([7], mx.uint8)})
contents["from_mlx.safetensors"] = {"arrays": {
    "x": describe(np.arange(3, dtype="int32")), "half": describe(np.array(halves.view(mx.uint16)), "bfloat16"),
    "byte": describe(np.array([7], "u1"))}, "meta": {}}

mx.save_gguf(str(FOLDER / "from_mlx.gguf"), {"x": mx.arange(6).reshape(2, 3), "h": mx.array([1.5, 2], mx.float16)},
             {"text": "a value", "list": ["one", "two", ""], "numbers": mx.array([1, 2, 3]), "one": mx.array(2.5), "yes": mx.array(True)})
contents["from_mlx.gguf"] = {
    "arrays": {"x": describe(np.arange(6, dtype="int32").reshape(2, 3)), "h": describe(np.array([1.5, 2], "f2"))},
    "meta": {"text": "a value", "list": ["one", "two", ""], "numbers": [1, 2, 3], "one": 2.5, "yes": True}}


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def write_gguf(name, tensors, version=3):
    """tensors: name, sizes (the fastest first), number of the type, bytes."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), 0)
    data = b""
    for tensor, sizes, kind, raw in tensors:
        data += b"\0" * (-len(data) % 32)
        head += text(tensor) + struct.pack("<I", len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes) + struct.pack("<IQ", kind, len(data))
        data += raw
    path = FOLDER / f"{name}.gguf"
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return path


blocks = {"Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210)}


def block(t, n):
    # Scales (the halves at the places below) are small numbers; all else is arbitrary.
    kind, elements, size = blocks[t]
    raw = rng.integers(0, 256, size=(n, size), dtype=np.uint8)
    for at in {"Q4_0": [0], "Q4_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q4_K": [0, 2], "Q6_K": [208]}[t]:
        raw[:, at:at + 2] = rng.normal(size=(n, 1)).astype("f2").view(np.uint8)
    return raw.tobytes()


tensors = [(f"{t}.weight", [256, 2], blocks[t][0], block(t, 512 // blocks[t][1])) for t in blocks]
tensors += [("plain", [3], 0, np.array([1, 2, 3], "f4").tobytes()), ("x", [32], 8, block("Q8_0", 1))]
path = write_gguf("quantised", tensors)
contents["quantised.gguf"] = {"arrays": {k: describe(np.array(v)) for k, v in mx.load(str(path)).items()}, "meta": {}}
# The types that become halves are described by ggml's own package: libmlx unpacks half of the groups of Q4_K with the scale
# of the group before.
for tensor in gguf.GGUFReader(path).tensors:
    if tensor.tensor_type.name in ("Q2_K", "Q4_K", "Q6_K"):
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        contents["quantised.gguf"]["arrays"][tensor.name] = describe(values.astype("f2"))
wide = [("i64", [2], 27, np.array([1, -2], "i8").tobytes()), ("f64", [2], 28, np.array([1.5, -2], "f8").tobytes()),
        ("bf16", [3], 30, np.array(halves.view(mx.uint16)).tobytes()), ("i8", [2], 24, b"\x01\xff"), ("i16", [1], 25, b"\x01\x02")]
write_gguf("version2", wide, version=2)
contents["version2.gguf"] = {"arrays": {
    "i64": describe(np.array([1, -2], "i8")), "f64": describe(np.array([1.5, -2], "f8")), "bf16": describe(np.array(halves.view(mx.uint16)), "bfloat16"),
    "i8": describe(np.array([1, -1], "i1")), "i16": describe(np.array([513], "i2"))}, "meta": {}}

(FOLDER / "files.json").write_text(json.dumps(contents, indent=1, ensure_ascii=False) + "\n")
print(len(contents), "files")
