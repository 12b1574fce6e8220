"""Makes torch.json and mlx.json, outputs and all gradients of PyTorch's and MLX's recurrent layers, and mlx.safetensors.

    python3 -m venv venv
    venv/bin/pip install numpy==2.2.6 torch==2.15.0 "mlx[cpu]==0.32.4"
    venv/bin/python make_vectors.py

PyTorch runs in float64, MLX in float32, both on the CPU. Each case has one layer's parameters under the names of
package rnn, the inputs, the cotangents (d_y, d_hn, d_cn) of a loss sum(y*d_y) + sum(hn*d_hn) + sum(cn*d_cn), the
outputs, and the gradients of that loss. Arrays are {"shape", "data"}. States are [layers*directions, N, H].

mlx.safetensors is a file that an mlx.nn model saved: its layers encoder.rnn, encoder.gru and encoder.lstm have the
weights of the cases rnn, gru and lstm of mlx.json.
"""

import json
import pathlib

import numpy as np
import torch

HERE = pathlib.Path(__file__).parent
RNG = np.random.default_rng(20240607)


def draw(*shape, scale=0.6):
    # Few digits, so that the text in the file is exactly what the layers were given.
    return np.round(RNG.uniform(-scale, scale, shape), 5)


def array(a):
    a = np.asarray(a)
    return {"shape": list(a.shape), "data": [float(f"{v:.10g}") for v in a.reshape(-1).tolist()]}


def arrays(d):
    return {k: array(v) for k, v in d.items()}


def prefix(layers, layer, reverse):
    stack = f"layers.{layer}." if layers > 1 else ""
    return stack + ("reverse." if reverse else "")


def from_torch(cell, hidden, w_ih, w_hh, b_ih, b_hh, grad=False):
    """Parameters of one layer and direction (or their gradients) under our names."""
    if cell == "GRU":
        p = {"Wx": w_ih, "Wh": w_hh}
        if b_ih is not None:
            # The r and z biases act as one sum; their gradients are equal. The n biases are apart.
            cut = 2 * hidden
            p["b"] = b_ih if grad else np.concatenate([b_ih[:cut] + b_hh[:cut], b_ih[cut:]])
            p["bhn"] = b_hh[cut:]
        return p
    names = ("Wx", "Wh") if cell == "LSTM" else ("Wxh", "Whh")
    p = dict(zip(names, (w_ih, w_hh)))
    if b_ih is not None:
        p["bias"] = b_ih if grad else b_ih + b_hh
    return p


def torch_case(name, cell, T, N, D, H, layers=1, bidirectional=False, bias=True, lengths=None, nonlinearity="tanh",
               state=True, unbatched=False):
    kwargs = {"nonlinearity": nonlinearity} if cell == "RNN" else {}
    layer = getattr(torch.nn, cell)(D, H, num_layers=layers, bidirectional=bidirectional, bias=bias,
                                    batch_first=True, dtype=torch.float64, **kwargs)
    for p in layer.parameters():
        p.data = torch.tensor(draw(*p.shape))
    dirs = 2 if bidirectional else 1
    lead = () if unbatched else (N,)
    x = torch.tensor(draw(*lead, T, D, scale=1.5), requires_grad=True)
    h0 = torch.tensor(draw(layers * dirs, *lead, H), requires_grad=True)
    c0 = torch.tensor(draw(layers * dirs, *lead, H), requires_grad=True)
    initial = ((h0, c0) if cell == "LSTM" else h0) if state else None
    inp = x
    if lengths:
        inp = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    y, last = layer(inp, initial)
    if lengths:
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=T)
    states = {"hn": last[0], "cn": last[1]} if cell == "LSTM" else {"hn": last}
    outs = {"y": y, **states}
    cotangents = {k: torch.tensor(draw(*v.shape, scale=1)) for k, v in outs.items()}
    sum((outs[k] * cotangents[k]).sum() for k in outs).backward()

    params, grads = {}, {"x": x.grad}
    for k in range(layers):
        for reverse in range(dirs):
            suffix = f"_l{k}" + ("_reverse" if reverse else "")
            ws = [getattr(layer, n + suffix, None) for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            pre = prefix(layers, k, reverse)
            for dst, values in ((params, ws), (grads, [w.grad if w is not None else None for w in ws])):
                values = [v.detach().numpy() if v is not None else None for v in values]
                for n, v in from_torch(cell, H, *values, grad=dst is grads).items():
                    dst[pre + n] = v
    inputs = {"x": x}
    if state:
        inputs["h0"], grads["h0"] = h0, h0.grad
        if cell == "LSTM":
            inputs["c0"], grads["c0"] = c0, c0.grad
    detach = lambda d: {k: v.detach().numpy() if torch.is_tensor(v) else v for k, v in d.items()}
    return {
        "name": name, "cell": cell, "input": D, "hidden": H, "layers": layers, "bidirectional": bidirectional,
        "bias": bias, "nonlinearity": nonlinearity, "lengths": lengths,
        "params": arrays(params), "inputs": arrays(detach(inputs)), "outputs": arrays(detach(outs)),
        "cotangents": arrays({"d_" + k: v for k, v in detach(cotangents).items()}), "grads": arrays(detach(grads)),
    }


def mlx_case(name, cell, T, N, D, H, bias=True, state=True, unbatched=False):
    import mlx.core as mx
    import mlx.nn as nn

    mx.set_default_device(mx.cpu)
    layer = getattr(nn, cell)(D, H, bias=bias)
    shapes = {k: v.shape for k, v in layer.parameters().items()}
    params = {k: mx.array(draw(*s).astype(np.float32)) for k, s in shapes.items()}
    lead = () if unbatched else (N,)
    args = {"x": mx.array(draw(*lead, T, D, scale=1.5).astype(np.float32))}
    if state:
        args["h0"] = mx.array(draw(1, *lead, H).astype(np.float32))
        if cell == "LSTM":
            args["c0"] = mx.array(draw(1, *lead, H).astype(np.float32))

    def run(params, args):
        layer.update(params)
        h0, c0 = args.get("h0"), args.get("c0")
        h0, c0 = (h0[0] if h0 is not None else None), (c0[0] if c0 is not None else None)
        if cell == "LSTM":
            y, c = layer(args["x"], h0, c0)
            return {"y": y, "hn": y[..., -1, :][None], "cn": c[..., -1, :][None]}
        y = layer(args["x"], h0)
        return {"y": y, "hn": y[..., -1, :][None]}

    outs = run(params, args)
    cotangents = {k: mx.array(draw(*v.shape, scale=1).astype(np.float32)) for k, v in outs.items()}

    def loss(params, args):
        outs = run(params, args)
        return sum((outs[k] * cotangents[k]).sum() for k in outs)

    param_grads, arg_grads = mx.grad(loss, argnums=(0, 1))(params, args)
    layer.update(params)
    return {
        "name": name, "cell": cell, "input": D, "hidden": H, "layers": 1, "bidirectional": False, "bias": bias,
        "nonlinearity": "tanh", "lengths": None, "params": arrays(params), "inputs": arrays(args),
        "outputs": arrays(outs), "cotangents": arrays({"d_" + k: v for k, v in cotangents.items()}),
        "grads": arrays({**param_grads, **arg_grads}),
    }


def write(name, versions, cases):
    with open(HERE / name, "w") as f:
        json.dump({"versions": versions, "cases": cases}, f, separators=(",", ":"))
        f.write("\n")


def save_model(cases):
    import mlx.core as mx
    import mlx.nn as nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.gru, self.lstm = nn.RNN(4, 5), nn.GRU(4, 5), nn.LSTM(4, 5)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = Encoder()

    model = Model()
    for name in ("rnn", "gru", "lstm"):
        params = {k: mx.array(v["data"]).reshape(v["shape"]) for k, v in cases[name]["params"].items()}
        model.encoder[name].update(params)
    model.save_weights(str(HERE / "mlx.safetensors"))


def main():
    cases = []
    for cell in ("RNN", "GRU", "LSTM"):
        lower = cell.lower()
        cases += [
            torch_case(f"{lower}", cell, T=5, N=3, D=4, H=5),
            torch_case(f"{lower}_no_state", cell, T=4, N=2, D=3, H=3, state=False),
            torch_case(f"{lower}_no_bias", cell, T=4, N=2, D=3, H=5, bias=False),
            torch_case(f"{lower}_one", cell, T=1, N=1, D=1, H=1),
            torch_case(f"{lower}_unbatched", cell, T=4, N=1, D=2, H=3, unbatched=True),
            torch_case(f"{lower}_odd", cell, T=3, N=5, D=7, H=17),
            torch_case(f"{lower}_two_layers", cell, T=4, N=3, D=3, H=4, layers=2),
            torch_case(f"{lower}_bidirectional", cell, T=5, N=3, D=3, H=4, bidirectional=True),
            torch_case(f"{lower}_three_layers_bidirectional", cell, T=4, N=2, D=3, H=3, layers=3, bidirectional=True),
            torch_case(f"{lower}_lengths", cell, T=6, N=4, D=3, H=4, lengths=[2, 6, 1, 5]),
            torch_case(f"{lower}_lengths_bidirectional", cell, T=5, N=4, D=3, H=3, layers=2, bidirectional=True,
                       lengths=[3, 1, 4, 2]),
        ]
    cases.append(torch_case("rnn_relu", "RNN", T=5, N=3, D=4, H=5, nonlinearity="relu"))
    write("torch.json", {"torch": torch.__version__.split("+")[0], "numpy": np.__version__}, cases)

    import mlx.core as mx

    cases = []
    for cell in ("RNN", "GRU", "LSTM"):
        lower = cell.lower()
        cases += [
            mlx_case(f"{lower}", cell, T=5, N=3, D=4, H=5),
            mlx_case(f"{lower}_no_state", cell, T=4, N=2, D=3, H=3, state=False),
            mlx_case(f"{lower}_no_bias", cell, T=4, N=2, D=3, H=5, bias=False),
            mlx_case(f"{lower}_one", cell, T=1, N=1, D=1, H=1),
            mlx_case(f"{lower}_unbatched", cell, T=4, N=1, D=2, H=3, unbatched=True),
            mlx_case(f"{lower}_odd", cell, T=3, N=5, D=7, H=17),
        ]
    write("mlx.json", {"mlx": mx.__version__, "numpy": np.__version__}, cases)
    save_model({c["name"]: c for c in cases})


if __name__ == "__main__":
    main()
