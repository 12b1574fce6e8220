"""Makes the vectors of this folder: vectors.json and sequential.safetensors.

    pip install "mlx[cpu]==0.32.4" torch==2.15.0 numpy==2.2.6
    python vectors.py

Layers, activations and initialisers are mlx.nn's; losses and their gradients are PyTorch's, in float64 on
float32 inputs.
"""

import json
import pathlib

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(20240611)


def draw(*shape, scale=1.0):
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def pack(a):
    a = np.array(a)
    kind = "int" if a.dtype.kind in "iub" else "float"
    data = [int(v) if kind == "int" else float(np.float32(v)) for v in a.ravel()]
    # JSON has no infinity and no NaN.
    data = [v if kind == "int" or np.isfinite(v) else repr(v) for v in data]
    return {"shape": list(a.shape), kind: data}


def torch_case(f, x):
    """Value and gradient of the sum of f at x."""
    t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    y = f(t)
    y.sum().backward()
    return {"x": pack(x), "value": pack(y.detach().numpy()), "grad": pack(t.grad.numpy())}


REDUCTIONS = ["mean", "sum", "none"]


def cross_entropy():
    cases = []
    x, ids = draw(3, 4, 5, scale=3), rng.integers(0, 5, (3, 4))
    ids[0, 1] = ids[2, 3] = ids[1, 0] = 2
    w = (0.2 + rng.random(5)).astype(np.float32)
    probs = rng.random((3, 4, 5)).astype(np.float32)
    probs /= probs.sum(-1, keepdims=True)

    def add(name, x, target, reduction, weights=None, ignore=None, smoothing=0.0):
        t = torch.tensor(target)
        if target.dtype == np.float32:
            t = t.double()
        tw = None if weights is None else torch.tensor(weights).double()

        def f(v):
            # PyTorch has the classes on axis 1, the vectors have them last.
            order = (0, v.ndim - 1, *range(1, v.ndim - 1)) if v.ndim > 1 else (0,)
            target = t.permute(order) if t.dtype == torch.float64 else t
            return F.cross_entropy(v.permute(order), target, weight=tw, label_smoothing=smoothing,
                                   ignore_index=-100 if ignore is None else ignore, reduction=reduction)

        case = torch_case(f, x)
        case.update(name=f"{name}/{reduction}", target=pack(target), smoothing=smoothing)
        if weights is not None:
            case["weights"] = pack(weights)
        if ignore is not None:
            case["ignore"] = ignore
        case["reduction"] = reduction
        cases.append(case)

    masked = ids.copy()
    masked[1, 1:] = -100
    for r in REDUCTIONS:
        add("ids", x, ids, r)
        add("ignore", x, ids, r, ignore=2)
        add("ignore below zero", x, masked, r, ignore=-100)
        add("smoothing", x, ids, r, smoothing=0.1)
        add("weights", x, ids, r, weights=w)
        add("all options", x, ids, r, weights=w, ignore=2, smoothing=0.2)
        add("probabilities", x, probs, r)
        add("probabilities, all options", x, probs, r, weights=w, smoothing=0.2)
    add("large logits", np.array([[1e4, -1e4, 0], [88, 89, 90]], np.float32), np.array([1, 2]), "none")
    add("one row", draw(7), np.array(3), "mean")
    return cases


def elementwise():
    cases = []
    p, t = draw(3, 5, scale=2), draw(3, 5, scale=2)
    p[0, 0], p[0, 1], p[0, 2] = t[0, 0], t[0, 1] + 1, t[0, 2] - 1  # the kinks of L1 and Huber
    p[0, 1] = np.float32(t[0, 1] + np.float32(1))
    binary = (rng.random((3, 5)) < 0.5).astype(np.float32)
    soft = rng.random((3, 5)).astype(np.float32)
    pos = (0.5 + rng.random(5)).astype(np.float32)
    big = np.array([[200, -200, 50], [-50, 0, 1e4]], np.float32)
    big_t = np.array([[0, 1, 1], [0, 1, 0]], np.float32)

    def add(loss, x, target, reduction, f, **more):
        tt = torch.tensor(target).double()
        case = torch_case(lambda v: f(v, tt), x)
        case.update(loss=loss, reduction=reduction, target=pack(target), **more)
        cases.append(case)

    for r in REDUCTIONS:
        add("mse", p, t, r, lambda v, tt: F.mse_loss(v, tt, reduction=r))
        add("l1", p, t, r, lambda v, tt: F.l1_loss(v, tt, reduction=r))
        for delta in (1.0, 0.3):
            add("huber", p, t, r, lambda v, tt: F.huber_loss(v, tt, reduction=r, delta=delta), delta=delta)
        for target in (binary, soft):
            add("bce", p, target, r, lambda v, tt: F.binary_cross_entropy_with_logits(v, tt, reduction=r))
            add("bce", p, target, r, lambda v, tt: F.binary_cross_entropy_with_logits(
                v, tt, reduction=r, pos_weight=torch.tensor(pos).double()), pos_weight=pack(pos))
        add("bce", big, big_t, r, lambda v, tt: F.binary_cross_entropy_with_logits(v, tt, reduction=r))
    return cases


def ctc():
    cases = []

    def add(name, x, target, input_lengths, target_lengths, reduction, blank=0, zero_infinity=False):
        def f(v):
            logp = v.log_softmax(-1).transpose(0, 1)
            return F.ctc_loss(logp, torch.tensor(target), torch.tensor(input_lengths), torch.tensor(target_lengths),
                              blank=blank, reduction=reduction, zero_infinity=zero_infinity)

        case = torch_case(f, x)
        case.update(name=f"{name}/{reduction}", target=pack(target), input_lengths=input_lengths,
                    target_lengths=target_lengths, reduction=reduction, blank=blank, zero_infinity=zero_infinity)
        cases.append(case)

    x = draw(4, 9, 6, scale=2)
    target = np.array([[1, 2, 3, 4], [2, 2, 5, 0], [3, 0, 0, 0], [0, 0, 0, 0]])
    for r in REDUCTIONS:
        add("ragged", x, target, [9, 7, 5, 3], [4, 3, 1, 0], r)
        last = np.where(target > 0, target - 1, 5)
        add("last is blank", x, last, [9, 7, 5, 3], [4, 3, 1, 0], r, blank=5)
        # Row 1 has a repeated label: three labels need four steps.
        add("no alignment", x, target, [9, 3, 5, 3], [4, 3, 1, 0], r, zero_infinity=True)
    add("no alignment, infinite", x[1:2], target[1:2], [3], [3], "none")
    add("exact fit", x[1:2], target[1:2], [4], [3], "none")
    add("one step", draw(2, 1, 4), np.array([[2], [3]]), [1, 1], [1, 1], "none")
    add("repeats", draw(2, 20, 3), np.array([[1, 1, 1, 1, 2, 2], [2, 1, 2, 1, 2, 1]]), [20, 17], [6, 6], "none")
    add("long", draw(1, 200, 8, scale=4), rng.integers(1, 8, (1, 40)), [200], [40], "none")
    # PyTorch's gradient of an infinite loss is NaN; ours is zero.
    for c in cases:
        if c["name"].startswith("no alignment, infinite"):
            del c["grad"]
    return cases


def layers():
    out = {}
    x = draw(2, 3, 4)
    mx.random.seed(3)
    linear = nn.Linear(4, 5)
    plain = nn.Linear(4, 5, bias=False)
    layer_norm, rms = nn.LayerNorm(4), nn.RMSNorm(4, eps=1e-3)
    layer_norm.weight, layer_norm.bias = mx.array(draw(4)), mx.array(draw(4))
    rms.weight = mx.array(draw(4))
    embedding = nn.Embedding(7, 4)
    ids = np.array([[0, 6, 3], [3, 3, 1]])
    xs = mx.array(x)

    def describe(m, y, **inputs):
        return {"params": {k: pack(v) for k, v in dict(_flat(m)).items()}, "y": pack(y), **inputs}

    out["linear"] = describe(linear, linear(xs), x=pack(x))
    out["linear without bias"] = describe(plain, plain(xs), x=pack(x))
    out["layer_norm"] = describe(layer_norm, layer_norm(xs), x=pack(x))
    out["rms_norm"] = describe(rms, rms(xs), x=pack(x))
    out["embedding"] = describe(embedding, embedding(mx.array(ids)), x=pack(ids))
    out["as_linear"] = describe(embedding, embedding.as_linear(xs), x=pack(x))

    model = nn.Sequential(nn.Linear(4, 6), nn.relu, nn.LayerNorm(6), nn.Linear(6, 2, bias=False))
    mx.eval(model.parameters())
    model.save_weights(str(HERE / "sequential.safetensors"))
    out["sequential"] = describe(model, model(xs), x=pack(x))

    a = np.linspace(-6, 6, 25).astype(np.float32)
    ax = mx.array(a)
    functions = {
        "relu": nn.relu, "leaky_relu": lambda v: nn.leaky_relu(v, 0.1), "elu": lambda v: nn.elu(v, 0.7), "gelu": nn.gelu,
        "gelu_approx": nn.gelu_approx, "silu": nn.silu, "softplus": nn.softplus, "log_softmax": nn.log_softmax,
    }
    activations = {"x": pack(a)}
    for name, f in functions.items():
        grad = mx.grad(lambda v: (f(v) * mx.arange(25)).sum())(ax)
        activations[name] = {"y": pack(f(ax)), "grad": pack(grad)}
    return out, activations


def _flat(m):
    from mlx.utils import tree_flatten
    return tree_flatten(m.parameters())


def initialisers():
    """mx.random.seed(7) followed by one draw uses the second half of the split of key(7)."""
    init = nn.init
    cases = {}
    shapes = {"matrix": (5, 3), "wide": (3, 6), "conv": (4, 3, 2)}

    def add(name, shape, f, *args, **kwargs):
        mx.random.seed(7)
        cases[f"{name}/{shape}"] = pack(f(mx.zeros(shapes[shape]), *args, **kwargs))

    for shape in shapes:
        add("constant", shape, init.constant(0.25))
        add("uniform", shape, init.uniform(-0.5, 2))
        add("normal", shape, init.normal(1, 0.5))
        add("glorot_uniform", shape, init.glorot_uniform(), 1.5)
        add("glorot_normal", shape, init.glorot_normal(), 1.5)
        for mode in ("fan_in", "fan_out"):
            add(f"he_uniform {mode}", shape, init.he_uniform(), mode, 2.0)
            add(f"he_normal {mode}", shape, init.he_normal(), mode, 2.0)
    for shape in ("matrix", "wide"):
        add("orthogonal", shape, init.orthogonal(1.5))
    return cases


def main():
    out = {"cross_entropy": cross_entropy(), "elementwise": elementwise(), "ctc": ctc(), "initialisers": initialisers()}
    out["layers"], out["activations"] = layers()
    (HERE / "vectors.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
