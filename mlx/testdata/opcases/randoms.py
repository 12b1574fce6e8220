"""Random numbers from explicit keys: the same key gives the same numbers on every machine."""
import mlx.core as mx
import numpy as np

from .core import A, D, S, case, some, to_numpy

random = mx.random


def key(seed=7):
    return A(to_numpy(random.key(seed)), "uint32")


def threefry(k, a, b):
    """Threefry-2x32 with 20 rounds (Salmon et al., SC 2011), on arrays of uint32."""
    k = [np.uint32(k[0]), np.uint32(k[1]), np.uint32(k[0]) ^ np.uint32(k[1]) ^ np.uint32(0x1BD11BDA)]
    a, b = a + k[0], b + k[1]
    for block in range(5):
        for r in ((13, 15, 26, 6), (17, 29, 16, 24))[block % 2]:
            a = a + b
            b = (b << np.uint32(r) | b >> np.uint32(32 - r)) ^ a
        a, b = a + k[(block + 1) % 3], b + k[(block + 2) % 3] + np.uint32(block + 1)
    return a, b


def np_bits(shape, width, k):
    """The counter's halves give the halves of the stream; an odd last word comes in the middle, from counter (half, 0)."""
    size = int(np.prod(shape)) * width
    words = -(-size // 4)
    half, odd = words // 2, words % 2
    with np.errstate(over="ignore"):
        first, second = threefry(k, np.arange(half, dtype=np.uint32), np.arange(half, dtype=np.uint32) + np.uint32(half + odd))
        middle = threefry(k, np.array([half], np.uint32), np.array([0], np.uint32))[0][:odd]
    stream = np.concatenate([first, middle, second]).astype("<u4").tobytes()[:size]
    return np.frombuffer(stream, f"<u{width}").reshape(shape)


def bits():
    case("Key", {"seed": 0}, random.key, np_f=lambda s: np.array([0, 0]))
    case("Key", {"seed": 2 ** 40 + 5}, random.key, "more than 32 bits", lambda s: np.array([256, 5]))
    split = lambda k, n: list(random.split(k, n))
    np_split = lambda k, n: list(np_bits((n, 2), 4, k))
    case("SplitKey", {"key": key(), "n": 2}, split, np_f=np_split)
    case("SplitKey", {"key": key(2 ** 63), "n": 1}, split, "one", np_split)
    # Python has no call for bits; np_bits equals the one for keys above, byte for byte.
    draw = lambda shape, width, k: mx.array(np_bits(shape, width, np.array(k)))
    case("RandomBits", {"shape": [2, 3], "width": 4, "key": key()}, draw)
    case("RandomBits", {"shape": [7], "width": 2, "key": key()}, draw, "two bytes, odd count")
    case("RandomBits", {"shape": [5], "width": 1, "key": key(9)}, draw, "one byte")
    case("RandomBits", {"shape": [0], "width": 4, "key": key()}, draw, "empty")


def continuous():
    uniform = lambda a, b, s, d, k: random.uniform(a, b, s, d, k)
    case("RandomUniform", {"low": S(-1.0), "high": S(2.0), "shape": [2, 3], "dtype": D("float32"), "key": key()}, uniform,
         np_f=lambda a, b, s, d, k: np_bits(s, 4, k) / (2 ** 32 - 1) * (b - a) + a)
    case("RandomUniform", {"low": S(0), "high": A([1.0, 10.0]), "shape": [3, 2], "dtype": D("float16"), "key": key()},
         lambda a, b, s, d, k: random.uniform(a, b.astype(d), s, d, k), "half type, an array as bound")
    case("RandomUniform", {"low": S(0.0), "high": S(1.0), "shape": [0], "dtype": D("bfloat16"), "key": key()}, uniform, "empty, half type")
    case("RandomUniform", {"low": S(0.0), "high": S(1.0), "shape": [], "dtype": D("float32"), "key": key()}, uniform, "0-d")
    normal = lambda s, d, m, dev, k: random.normal(s, d, m, dev, k)
    case("RandomNormal", {"shape": [2, 3], "dtype": D("float32"), "mean": 0.0, "deviation": 1.0, "key": key()}, normal)
    case("RandomNormal", {"shape": [4], "dtype": D("bfloat16"), "mean": 2.0, "deviation": 0.5, "key": key()}, normal, "half type, mean and deviation")
    case("RandomNormal", {"shape": [2, 0], "dtype": D("float32"), "mean": 1.0, "deviation": 2.0, "key": key()}, normal, "empty")
    joint = lambda m, c, s, d, k: random.multivariate_normal(m, c, s, d, k, stream=mx.cpu)
    case("RandomMultivariateNormal", {"mean": A([0.0, 0.0]), "covariance": A([[4.0, 0.0], [0.0, 0.25]]), "shape": [3], "dtype": D("float32"), "key": key()},
         joint, check="deviation")
    case("RandomMultivariateNormal", {"mean": A([[1.0, -1.0], [0.0, 5.0]]), "covariance": A([[[4.0, 0.0], [0.0, 0.25]], [[1.0, 0.0], [0.0, 9.0]]]),
                                      "shape": [2], "dtype": D("float32"), "key": key()}, joint, "stacked", check="deviation")
    cut = lambda a, b, s, d, k: random.truncated_normal(a, b, s, d, k)
    case("RandomTruncatedNormal", {"low": S(-1.0), "high": S(2), "shape": [2, 3], "dtype": D("float32"), "key": key()}, cut, tol=1e-4)
    case("RandomTruncatedNormal", {"low": A([0.0, 1.0]), "high": S(3.0), "shape": [3, 2], "dtype": D("float16"), "key": key()},
         lambda a, b, s, d, k: random.truncated_normal(a.astype(d), b, s, d, k), "half type, an array as bound", tol=1e-2)
    plain = lambda s, d, k: random.gumbel(s, d, k)
    case("RandomGumbel", {"shape": [2, 3], "dtype": D("float32"), "key": key()}, plain)
    case("RandomGumbel", {"shape": [4], "dtype": D("bfloat16"), "key": key()}, plain, "half type")
    laplace = lambda s, d, m, b, k: random.laplace(s, d, m, b, k)
    case("RandomLaplace", {"shape": [2, 3], "dtype": D("float32"), "mean": 0.0, "scale": 1.0, "key": key()}, laplace)
    case("RandomLaplace", {"shape": [4], "dtype": D("float16"), "mean": 1.0, "scale": 0.5, "key": key()}, laplace, "half type, mean and scale")


def discrete():
    integers = lambda a, b, s, d, k: random.randint(a, b, s, d, k)
    case("RandomInt", {"low": S(0), "high": S(100), "shape": [2, 3], "dtype": D("int32"), "key": key()}, integers)
    case("RandomInt", {"low": A([-5, 100], "int32"), "high": S(200), "shape": [3, 2], "dtype": D("int16"), "key": key()}, integers, "array as bound, small type")
    case("RandomInt", {"low": S(0), "high": S(3), "shape": [0], "dtype": D("uint8"), "key": key()}, integers, "empty")
    coin = lambda p, s, k: random.bernoulli(p, s, k)
    case("RandomBernoulli", {"p": S(0.5), "shape": [2, 4], "key": key()}, coin)
    case("RandomBernoulli", {"p": A([0.0, 1.0, 0.5], "float16"), "shape": [2, 3], "key": key()}, coin, "broadcast, half type")
    case("RandomBernoulli", {"p": S(1), "shape": [3], "key": key()}, lambda p, s, k: coin(float(p), s, k), "a whole number")
    logits = some(3, 4, seed=151)
    one = lambda x, axis, k: random.categorical(x, axis, key=k)
    case("RandomCategorical", {"logits": A(logits), "axis": 1, "key": key()}, one)
    case("RandomCategorical", {"logits": A(logits, view=[["transpose", [1, 0]]]), "axis": -2, "key": key()}, one, "strided, negative axis")
    case("RandomCategorical", {"logits": A(logits, "float16"), "axis": 0, "key": key()}, one, "half type")
    many = lambda x, axis, n, k: random.categorical(x, axis, num_samples=n, key=k)
    case("RandomCategoricalN", {"logits": A(logits), "axis": 1, "n": 5, "key": key()}, many)
    case("RandomCategoricalN", {"logits": A(logits, view=[["transpose", [1, 0]]]), "axis": -2, "n": 2, "key": key()}, many, "strided, negative axis")
    shuffle = lambda x, axis, k: random.permutation(x, axis, key=k)
    case("RandomPermutation", {"x": A(logits), "axis": 0, "key": key()}, shuffle)
    case("RandomPermutation", {"x": A(logits, "bfloat16", [["transpose", [1, 0]]]), "axis": -2, "key": key()}, shuffle, "strided, half type, negative axis")
    count = lambda n, k: random.permutation(n, key=k)
    case("RandomPermutationN", {"n": 6, "key": key()}, count)
    case("RandomPermutationN", {"n": 1, "key": key()}, count, "one")


def cases():
    bits()
    continuous()
    discrete()
