"""Makes the vectors of this folder: vectors.json, and the state of an mlx optimiser after three steps.

    pip install "mlx[cpu]==0.32.4" torch==2.15.0 numpy==2.2.6
    python vectors.py

Each run updates several parameters with given gradients by an optimiser of mlx.optimizers. The runs named "torch ..."
are PyTorch's, in float64.
"""

import json
import pathlib

import mlx.core as mx
import mlx.optimizers as optim
import numpy as np
import torch
from mlx.utils import tree_flatten, tree_map, tree_unflatten

HERE = pathlib.Path(__file__).parent
STEPS = 6
rng = np.random.default_rng(20240612)
SHAPES = {"layers.0.weight": (3, 4), "layers.0.bias": (3,), "scale": (), "embed.weight": (5, 2)}
START = {k: rng.standard_normal(s).astype(np.float32) for k, s in SHAPES.items()}
GRADS = [{k: rng.standard_normal(s).astype(np.float32) for k, s in SHAPES.items()} for _ in range(STEPS)]
for g in GRADS:
    g["embed.weight"][3] = 0  # a row that is never touched
    g["scale"] *= np.float32(100)


def pack(a):
    a = np.asarray(a)
    return {"shape": list(a.shape), "float": [float(v) for v in a.ravel()]}


def pack_all(d):
    return {k: pack(v) for k, v in d.items()}


def run(make, save_after=None):
    opt = make()
    params = {k: mx.array(v) for k, v in START.items()}
    trace = []
    for i, g in enumerate(GRADS):
        grads = tree_unflatten(list({k: mx.array(v) for k, v in g.items()}.items()))
        tree = opt.apply_gradients(grads, tree_unflatten(list(params.items())))
        params = dict(tree_flatten(tree))
        mx.eval(params, opt.state)
        trace.append(pack_all({k: np.array(v) for k, v in params.items()}))
        if save_after == i + 1:
            mx.save_safetensors(str(HERE / "adam_state.safetensors"), dict(tree_flatten(opt.state)))
    state = {k: np.array(v) for k, v in tree_flatten(opt.state) if "." in k}
    return {"params": trace, "state": pack_all(state)}


def run_torch(make):
    params = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in START.items()}
    opt = make(list(params.values()))
    trace = []
    for g in GRADS:
        for k, p in params.items():
            p.grad = torch.tensor(g[k], dtype=torch.float64)
        opt.step()
        trace.append(pack_all({k: p.detach().numpy() for k, p in params.items()}))
    return {"params": trace}


def main():
    cosine = optim.cosine_decay(0.1, 4, 0.01)
    runs = {
        "sgd": run(lambda: optim.SGD(0.1)),
        "sgd decay": run(lambda: optim.SGD(0.1, weight_decay=0.05)),
        "sgd momentum": run(lambda: optim.SGD(0.1, momentum=0.9, weight_decay=0.05)),
        "sgd dampening": run(lambda: optim.SGD(0.1, momentum=0.8, dampening=0.3)),
        "sgd nesterov": run(lambda: optim.SGD(0.1, momentum=0.9, nesterov=True)),
        "sgd cosine": run(lambda: optim.SGD(cosine, momentum=0.5)),
        "adam": run(lambda: optim.Adam(0.01), save_after=3),
        "adam betas": run(lambda: optim.Adam(0.01, betas=[0.7, 0.9], eps=1e-3)),
        "adam corrected": run(lambda: optim.Adam(0.01, bias_correction=True)),
        "adamw": run(lambda: optim.AdamW(0.01)),
        "adamw corrected": run(lambda: optim.AdamW(0.01, weight_decay=0.2, bias_correction=True)),
        "rmsprop": run(lambda: optim.RMSprop(0.01)),
        "rmsprop alpha": run(lambda: optim.RMSprop(0.01, alpha=0.8, eps=1e-4)),
        "adagrad": run(lambda: optim.Adagrad(0.1)),
        "lion": run(lambda: optim.Lion(0.01)),
        "lion decay": run(lambda: optim.Lion(0.01, betas=[0.8, 0.95], weight_decay=0.1)),
        "torch adam": run_torch(lambda p: torch.optim.Adam(p, 0.01)),
        "torch adamw": run_torch(lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.2)),
        "torch sgd": run_torch(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.05, nesterov=True)),
        "torch rmsprop": run_torch(lambda p: torch.optim.RMSprop(p, 0.01, alpha=0.8, eps=1e-4)),
        "torch adagrad": run_torch(lambda p: torch.optim.Adagrad(p, 0.1, eps=1e-8)),
    }
    schedules = {
        "exponential": optim.exponential_decay(0.1, 0.9),
        "step": optim.step_decay(0.1, 0.5, 7),
        "cosine": optim.cosine_decay(0.1, 20, 0.02),
        "linear": optim.linear_schedule(0.3, 0.1, 15),
        "join": optim.join_schedules([optim.linear_schedule(0, 0.1, 5), optim.cosine_decay(0.1, 12),
                                      optim.exponential_decay(0.02, 0.5)], [5, 20]),
    }
    values = {k: pack([np.array(f(mx.array(i))) for i in range(30)]) for k, f in schedules.items()}

    clip = {}
    for limit in (1.0, 1e6, 0.0):
        grads, norm = optim.clip_grad_norm({k: mx.array(v) for k, v in GRADS[0].items()}, limit)
        clip[str(limit)] = {"norm": float(norm), "grads": pack_all({k: np.array(v) for k, v in grads.items()})}

    out = {"start": pack_all(START), "grads": [pack_all(g) for g in GRADS], "runs": runs, "schedules": values, "clip": clip}
    (HERE / "vectors.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
