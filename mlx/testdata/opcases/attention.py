"""MLX's "fast" operations: norms, rotary encoding, attention, losses."""
import mlx.core as mx
import numpy as np
from scipy import special

from .core import A, S, case, some

TURN = [["transpose", [1, 0]]]
fast = mx.fast


def norms():
    x, w, b = some(3, 4, seed=121), some(4, seed=122), some(4, seed=123)
    rms = lambda x, w, e: fast.rms_norm(x, w, e)
    np_rms = lambda x, w, e: x / np.sqrt((x * x).mean(-1, keepdims=True) + e) * (1 if w is None else w)
    case("RMSNorm", {"x": A(x), "weight": A(w), "eps": 1e-5}, rms, np_f=np_rms)
    case("RMSNorm", {"x": A(x, view=TURN), "weight": None, "eps": 0.1}, rms, "strided, no weight", np_rms)
    case("RMSNorm", {"x": A(x, "float16"), "weight": A(w, "float16"), "eps": 1e-5}, rms, "half type", np_rms, np_tol=1e-2)
    layer = lambda x, w, b, e: fast.layer_norm(x, w, b, e)

    def np_layer(x, w, b, e):
        y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + e)
        return y * (1 if w is None else w) + (0 if b is None else b)

    case("LayerNorm", {"x": A(x), "weight": A(w), "bias": A(b), "eps": 1e-5}, layer, np_f=np_layer)
    case("LayerNorm", {"x": A(x, view=TURN), "weight": None, "bias": None, "eps": 0.1}, layer, "strided, no weight, no bias", np_layer)
    case("LayerNorm", {"x": A(x, "bfloat16"), "weight": A(w, "bfloat16"), "bias": None, "eps": 1e-5}, layer, "half type, no bias", np_layer, np_tol=4e-2)
    case("LayerNorm", {"x": A(np.zeros((0, 4))), "weight": A(w), "bias": A(b), "eps": 1e-5}, layer, "empty", np_layer)


def loss():
    x = some(2, 3, 5, seed=124)
    t = np.array([[0, 4, 2], [1, 1, 3]])
    np_loss = lambda x, t: special.logsumexp(x, -1) - np.take_along_axis(x, t[..., None].astype(int), -1)[..., 0]
    case("SoftmaxCrossEntropy", {"logits": A(x), "targets": A(t, "int32")}, fast.cross_entropy, np_f=np_loss)
    case("SoftmaxCrossEntropy", {"logits": A(x, view=[["transpose", [1, 0, 2]]]), "targets": A(t, "uint32", TURN)}, fast.cross_entropy, "strided", np_loss)
    case("SoftmaxCrossEntropy", {"logits": A(x * 500), "targets": A(t, "int32")}, fast.cross_entropy, "large numbers", np_loss)
    case("SoftmaxCrossEntropy", {"logits": A(x[0], "float16"), "targets": A(t[0], "int64")}, fast.cross_entropy, "half type", np_loss)


def rotary():
    x = some(1, 2, 3, 8, seed=125)
    rope = lambda x, dims, trad, base, scale, offset, freqs: fast.rope(x, dims, traditional=trad, base=base, scale=scale, offset=offset, freqs=freqs)

    def np_rope(x, dims, trad, base, scale, offset, freqs):
        half = dims // 2
        inverse = base ** (-np.arange(half) / half) if freqs is None else 1 / freqs
        angle = ((np.arange(x.shape[-2]) + offset) * scale)[:, None] * inverse
        cos, sin = np.cos(angle), np.sin(angle)
        out = x.astype(float).copy()
        a, b = (x[..., 0:dims:2], x[..., 1:dims:2]) if trad else (x[..., :half], x[..., half:dims])
        one, two = a * cos - b * sin, a * sin + b * cos
        if trad:
            out[..., 0:dims:2], out[..., 1:dims:2] = one, two
        else:
            out[..., :half], out[..., half:dims] = one, two
        return out

    def one(a, dims, trad, base, scale, offset, freqs, odd="", **more):
        case("RoPE", {"x": a, "dims": dims, "traditional": trad, "base": base, "scale": scale, "offset": offset, "freqs": freqs}, rope, odd, np_rope, **more)

    one(A(x), 8, False, S(10000.0), 1.0, 0, None)
    one(A(x, view=[["transpose", [0, 2, 1, 3]]]), 4, True, S(100.0), 0.5, 3, None, "strided, traditional, part of the axis, offset")
    one(A(x), 8, False, None, 1.0, 1, A([1.0, 2.0, 5.0, 10.0]), "own frequencies")
    one(A(x, "float16"), 8, False, S(10000.0), 1.0, 2, None, "half type", np_tol=5e-3)


def attention():
    q, k, v = some(1, 4, 3, 8, seed=126), some(1, 2, 5, 8, seed=127), some(1, 2, 5, 8, seed=128)

    def run(q, k, v, scale, mode, mask, sinks):
        return fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask if mode == "array" else mode or None, sinks=sinks)

    def np_run(q, k, v, scale, mode, mask, sinks):
        r = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, r, 1), np.repeat(v, r, 1)
        s = scale * q.astype(float) @ np.swapaxes(k, -1, -2)
        if mode == "causal":
            s = np.where(np.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2]) > 0, s, -np.inf)
        elif mode == "array":
            s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
        if sinks is not None:
            s = np.concatenate([np.broadcast_to(sinks.reshape(1, -1, 1, 1), s.shape[:-1] + (1,)), s], -1)
        p = special.softmax(s, -1)
        return (p if sinks is None else p[..., 1:]) @ v

    def one(q, k, v, scale, mode, mask, sinks, odd="", **more):
        case("ScaledDotProductAttention", {"q": q, "k": k, "v": v, "scale": scale, "maskMode": mode, "mask": mask, "sinks": sinks}, run, odd, np_run, **more)

    one(A(q), A(k), A(v), 0.35, "", None, None)
    one(A(q), A(k), A(v), 0.35, "causal", None, None, "causal")
    one(A(np.swapaxes(q, 1, 2), view=[["transpose", [0, 2, 1, 3]]]), A(k), A(v), 1.0, "array", A(some(3, 5, seed=129)), A(some(4, seed=130)),
        "strided, a mask to add, sinks")
    one(A(q), A(k), A(v), 0.5, "array", A(some(1, 1, 3, 5, seed=131) > -1, "bool"), None, "a Boolean mask")
    one(A(q, "float16"), A(k, "float16"), A(v, "float16"), 0.35, "", None, None, "half type", np_tol=1e-2)


def delta_rule():
    b, t, hk, hv, dk, dv = 2, 4, 1, 2, 4, 3
    q, k, v = some(b, t, hk, dk, seed=132), some(b, t, hk, dk, seed=133), some(b, t, hv, dv, seed=134)
    gates, beta = some(b, t, hv, low=0.5, high=1, seed=135), some(b, t, hv, low=0.1, high=0.9, seed=136)
    state = some(b, hv, dv, dk, seed=137)
    mask = [[True, True, False, True], [False, True, True, False]]
    run = lambda q, k, v, g, beta, state, mask: fast.gated_delta_update(q, k, v, g, beta, state, mask)

    def np_run(q, k, v, g, beta, state, mask):
        """state <- g state + beta (v - g state k) k^T, output = state q; a masked step leaves the state and gives 0."""
        q, k = np.repeat(q, hv // hk, 2), np.repeat(k, hv // hk, 2)
        s, out = np.zeros((b, hv, dv, dk)) if state is None else state, []
        for i in range(t):
            decayed = s * g[:, i, :, None, None]
            error = v[:, i] - np.einsum("bhvk,bhk->bhv", decayed, k[:, i])
            new = decayed + np.einsum("bhv,bhk->bhvk", error * beta[:, i, :, None], k[:, i])
            y = np.einsum("bhvk,bhk->bhv", new, q[:, i])
            if mask is not None:
                new = np.where(mask[:, i, None, None, None], new, s)
                y = np.where(mask[:, i, None, None], y, 0)
            s = new
            out.append(y)
        return np.stack(out, 1), s

    def one(q, k, v, state, mask, odd=""):
        case("GatedDeltaUpdate", {"q": q, "k": k, "v": v, "gates": A(gates), "beta": A(beta), "state": state, "mask": mask}, run, odd, np_run)

    one(A(q), A(k), A(v), None, None)
    one(A(np.swapaxes(q, 0, 1), view=[["transpose", [1, 0, 2, 3]]]), A(k), A(v), A(state), A(mask, "bool"), "strided, a state, a mask")


def cases():
    norms()
    loss()
    rotary()
    attention()
    delta_rule()
