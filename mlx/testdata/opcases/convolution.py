"""Convolutions, channels last."""
import mlx.core as mx
import numpy as np

from .core import A, case, some


def plain(x, w, stride, low, high, dilation, spread, groups, flip):
    """The definition, in float64 loops over the places of the kernel. x [N, ..., C], w [O, ..., C/groups]."""
    x, w, n = np.asarray(x, float), np.asarray(w, float), x.ndim - 2
    if flip:
        w = np.flip(w, tuple(range(1, n + 1)))
    wide = np.zeros((x.shape[0],) + tuple((s - 1) * d + 1 for s, d in zip(x.shape[1:-1], spread)) + x.shape[-1:])
    wide[(slice(None),) + tuple(slice(None, None, d) for d in spread)] = x
    wide = np.pad(wide, [(0, 0)] + [(max(a, 0), max(b, 0)) for a, b in zip(low, high)] + [(0, 0)])
    size = [(s - d * (k - 1) - 1) // t + 1 for s, d, k, t in zip(wide.shape[1:-1], dilation, w.shape[1:-1], stride)]
    out = np.zeros([x.shape[0]] + size + [w.shape[0]])
    per_in, per_out = x.shape[-1] // groups, w.shape[0] // groups
    for at in np.ndindex(*w.shape[1:-1]):
        part = wide[(slice(None),) + tuple(slice(a * d, a * d + (s - 1) * t + 1, t) for a, d, s, t in zip(at, dilation, size, stride))]
        for g in range(groups):
            out[..., g * per_out:(g + 1) * per_out] += part[..., g * per_in:(g + 1) * per_in] @ w[(slice(g * per_out, (g + 1) * per_out),) + at].T
    return out


def transposed(x, w, stride, padding, dilation, output_padding, groups):
    """The input spread by the stride, convolved with the flipped kernel."""
    low = [d * (k - 1) - p for d, k, p in zip(dilation, w.shape[1:-1], padding)]
    high = [a + o for a, o in zip(low, output_padding)]
    return plain(x, w, [1] * len(stride), low, high, dilation, stride, groups, True)


def numbers(n, v):
    """MLX wants a number for one axis and a tuple for more."""
    return v[0] if n == 1 else tuple(v)


def forward():
    for n, f in ((1, mx.conv1d), (2, mx.conv2d), (3, mx.conv3d)):
        space, kernel = [6, 4, 3][:n], [3, 2, 2][:n]
        x, w = some(2 if n == 1 else 1, *space, 4, seed=n, digits=1), some(3, *kernel, 4, seed=n + 3, digits=1)
        run = lambda a, w, s, p, d, g: f(a, w, numbers(n, s), numbers(n, p), numbers(n, d), g)
        np_run = lambda a, w, s, p, d, g: plain(a, w, s, p, p, d, [1] * n, g, False)

        def one(a, w, stride, padding, dilation, groups, odd="", **more):
            case(f"conv{n}d", {"input": a, "weight": w, "stride": stride[:n], "padding": padding[:n], "dilation": dilation[:n], "groups": groups},
                 run, odd, np_run, **more)

        one(A(x), A(w), [1, 1, 1], [0, 0, 0], [1, 1, 1], 1)
        one(A(x), A(w), [2, 1, 2], [1, 2, 0], [2, 1, 1], 1, "stride, padding, dilation")
        if n < 3:
            one(A(x), A(some(4, *kernel, 2, seed=n, digits=1)), [1, 2, 1], [1, 0, 1], [1, 1, 1], 2, "groups")
        turned = [["transpose", [0] + list(range(n + 1, 0, -1))]]
        one(A(np.transpose(x, turned[0][1]), view=turned), A(w), [1, 1, 1], [0, 0, 0], [1, 1, 1], 1, "strided")
        one(A(x, "float16"), A(w, "float16"), [1, 1, 1], [1, 1, 1], [1, 1, 1], 1, "half type", np_tol=3e-2)


def general():
    run = lambda a, w, s, lo, hi, kd, ind, g, flip: mx.conv_general(a, w, stride=s, padding=(lo, hi), kernel_dilation=kd, input_dilation=ind, groups=g, flip=flip)
    np_run = lambda a, w, s, lo, hi, kd, ind, g, flip: plain(a, w, s, lo, hi, kd, ind, g, flip)

    def one(x, w, s, lo, hi, kd, ind, g, flip, odd="", **more):
        case("convGeneral", {"input": x, "weight": w, "stride": s, "low": lo, "high": hi, "kernelDilation": kd, "inputDilation": ind, "groups": g, "flip": flip},
             run, odd, np_run, **more)

    x, w = some(1, 5, 4, 2, seed=111, digits=1), some(2, 3, 2, 2, seed=112, digits=1)
    one(A(x), A(w), [1, 1], [0, 0], [0, 0], [1, 1], [1, 1], 1, False)
    one(A(x), A(w), [2, 1], [1, 0], [0, 2], [1, 2], [2, 1], 1, False, "padding of the ends differs, both dilations")
    one(A(x), A(w), [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], 1, True, "flipped")
    one(A(x[:, :, 0]), A(w[:, :, 0]), [1], [2], [0], [1], [3], 1, False, "one axis")
    one(A(x, "bfloat16"), A(w[..., :1], "bfloat16"), [1, 1], [0, 0], [0, 0], [1, 1], [1, 1], 2, False, "groups, half type", np_tol=6e-2)


def backward():
    for n, f in ((1, mx.conv_transpose1d), (2, mx.conv_transpose2d), (3, mx.conv_transpose3d)):
        space, kernel = [4, 3, 2][:n], [3, 2, 2][:n]
        x, w = some(2 if n == 1 else 1, *space, 4, seed=n + 6, digits=1), some(3, *kernel, 4, seed=n + 9, digits=1)
        run = lambda a, w, s, p, d, o, g: f(a, w, numbers(n, s), numbers(n, p), numbers(n, d), numbers(n, o), g)
        np_run = lambda a, w, s, p, d, o, g: transposed(a, w, s, p, d, o, g)

        def one(a, w, stride, padding, dilation, output, groups, odd="", **more):
            case(f"convTranspose{n}d", {"input": a, "weight": w, "stride": stride[:n], "padding": padding[:n], "dilation": dilation[:n],
                                        "outputPadding": output[:n], "groups": groups}, run, odd, np_run, **more)

        one(A(x), A(w), [1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0], 1)
        one(A(x), A(w), [2, 2, 2], [1, 1, 0], [2, 1, 1], [1, 0, 1], 1, "stride, padding, dilation, output padding")
        turned = [["transpose", [0] + list(range(n + 1, 0, -1))]]
        one(A(np.transpose(x, turned[0][1]), view=turned), A(w), [1, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0], 1, "strided")
        one(A(x, "float16"), A(w, "float16"), [2, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0], 1, "half type", np_tol=3e-2)


def cases():
    forward()
    general()
    backward()
