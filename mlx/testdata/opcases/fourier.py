"""Fourier transforms."""
import mlx.core as mx
import numpy as np

from .core import A, S, case, some

TURN = [["transpose", [1, 0]]]


def transforms():
    x = some(2, 6, seed=171)
    z = x[:, :3] + 1j * x[:, 3:]
    for n, (op, name) in enumerate((("FFT", "fft"), ("IFFT", "ifft"), ("RFFT", "rfft"), ("IRFFT", "irfft"))):
        f, g = getattr(mx.fft, name), getattr(np.fft, name)
        run, np_run = (lambda a, n, axis, norm: f(a, n, axis, norm or "backward")), (lambda a, n, axis, norm: g(a, n, axis, norm or "backward"))
        real = op == "RFFT"
        data, kind = (x, "float32") if real else (z, "complex64")
        case(op, {"a": A(data, kind), "n": 4, "axis": 1, "norm": ""}, run, np_f=np_run)
        case(op, {"a": A(data, kind, TURN), "n": 5, "axis": -2, "norm": "ortho"}, run, "strided, negative axis, odd length, ortho", np_run)
        case(op, {"a": A(x, "float16"), "n": 3, "axis": 0, "norm": "forward"}, run, "half type, zeros behind, forward", np_run, np_tol=1e-3)
        fn, gn = getattr(mx.fft, name + "n"), getattr(np.fft, name + "n")
        run, np_run = (lambda a, s, axes, norm: fn(a, s or None, axes or None, norm or "backward")), (
            lambda a, s, axes, norm: gn(a, s or None, axes or None, norm or "backward"))
        case(op + "N", {"a": A(data, kind), "sizes": [], "axes": [], "norm": ""}, run, np_f=np_run)
        case(op + "N", {"a": A(data, kind, TURN), "sizes": [2, 4], "axes": [-1, 0], "norm": "ortho"}, run, "strided, negative axis, other sizes, ortho", np_run)
        case(op + "N", {"a": A(data, kind), "sizes": [], "axes": [0], "norm": "forward"}, run, "one axis, forward", np_run)
    for op, f, g in (("FFTFreq", mx.fft.fftfreq, np.fft.fftfreq), ("RFFTFreq", mx.fft.rfftfreq, np.fft.rfftfreq)):
        case(op, {"n": 6, "d": 1.0}, f, np_f=g)
        case(op, {"n": 5, "d": 0.5}, f, "odd length", g)
    for op, f, g in (("FFTShift", mx.fft.fftshift, np.fft.fftshift), ("IFFTShift", mx.fft.ifftshift, np.fft.ifftshift)):
        run, np_run = (lambda a, ax: f(a, ax or None)), (lambda a, ax: g(a, ax or None))
        case(op, {"a": A(some(5, seed=172)), "axes": [0]}, run, np_f=np_run)
        case(op, {"a": A(some(2, 3, seed=173), view=TURN), "axes": [-2]}, run, "strided, negative axis", np_run)
        case(op, {"a": A(some(2, 3, seed=173), "float16"), "axes": []}, run, "all axes, half type", np_run)


def windows():
    x, window = some(16, seed=174), [0.25, 0.75, 1.0, 0.75, 0.25, 0.1]
    stft = lambda x, n, hop, w, center: mx.fft.stft(x, n, hop, window=w, center=center)

    def np_stft(x, n, hop, w, center):
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n // 2, n // 2)], mode="reflect") if center else x
        hop = hop or n // 4
        frames = np.stack([x[..., i:i + n] for i in range(0, x.shape[-1] - n + 1, hop)], -2)
        return np.swapaxes(np.fft.rfft(frames * (1 if w is None else w), axis=-1), -1, -2)

    case("STFT", {"x": A(x), "size": 8, "hop": None, "window": None, "center": True}, stft, np_f=np_stft)
    case("STFT", {"x": A(some(16, 2, seed=175), view=TURN), "size": 6, "hop": S(3), "window": A(window), "center": False}, stft,
         "strided, stacked, own window", np_stft)
    case("STFT", {"x": A(some(13, seed=176)), "size": 5, "hop": S(2), "window": None, "center": True}, stft, "odd size", np_stft)
    istft = lambda s, n, hop, w, center, length: mx.fft.istft(s, n, hop, window=w, center=center, length=length)
    back = lambda n, hop, w, center, x: mx.fft.stft(mx.array(x.astype(np.float32)), n, hop, window=w, center=center)
    case("ISTFT", {"spectrum": A(np.round(np.array(back(8, 2, None, True, x)), 3), "complex64"), "size": 8, "hop": S(2), "window": None, "center": True,
                   "length": None}, istft, np_f=lambda *_: x, np_tol=2e-3)
    case("ISTFT", {"spectrum": A(np.round(np.array(back(6, 2, mx.array(window), True, x)), 3).T, "complex64", TURN), "size": 6, "hop": S(2),
                   "window": A(window), "center": True, "length": S(13)}, istft, "strided, own window, own length", np_f=lambda *_: x[:13], np_tol=5e-3)


def cases():
    transforms()
    windows()
