"""Elementary functions of float32 vectors, total over the whole range: infinities, NaN and subnormals included.

Polynomials are Cephes' (Moshier) unless said otherwise. Every product that meets a sum is an explicit fma, so the bits
are the same on every machine. Error bounds are measured in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nalm.native.angle import wrap
from nalm.native.text import FLOATS, LANES, Writer
from nalm.native.vector import Vector

_ROUNDER = 1.5 * 2.0**23  # adding it rounds a float to a whole number and leaves that in the low bits
_LOG2E = float(np.float32(1 / math.log(2)))
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_LOG = (
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
_ERF = (
    *(7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2),
    *(1.128358514861418e-1, -3.761262582423300e-1, 1.128379165726710),
)
_ERFC_NEAR = (
    *(2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1, 6.210004621745983e-1),
    *(-4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1, 5.638259427386472e-1),
)
_ERFC_FAR = (
    *(-1.047766399936249e1, 1.297719955372516e1, -7.495518717768503, 2.921019019210786, -1.015265279202700),
    *(4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1),
)
_HALF_PI = (1.57079637050628662109375, -4.37113900018624283e-8, -1.71512451e-15)  # pi / 2 in three floats
_TURNS = float(np.float32(2 / math.pi))


def _f32(*numbers: float) -> tuple[float, ...]:
    return tuple(float(np.float32(n)) for n in numbers)


def _whole(x: Vector) -> tuple[Vector, Vector]:
    """The nearest whole number, as a float and as an integer; garbage but no harm for NaN."""
    shifted = x + _ROUNDER
    bits = shifted.cast("bitcast", "i32") - int(np.float32(_ROUNDER).view(np.int32))
    return shifted - _ROUNDER, bits


def _power_of_two(n: Vector) -> Vector:
    """2**n for -126 <= n <= 127."""
    return ((n + 127) << 23).cast("bitcast", "float")


def _exp_parts(x: Vector) -> tuple[Vector, Vector]:
    """exp(x) = 2**n * (1 + p) as (n, p), |x| at most about 104."""
    whole, n = _whole(x * _LOG2E)
    r = whole.fma(-_f32(_LN2_LOW)[0], whole.fma(-_LN2_HIGH, x))
    return n, (r * r).fma(r.polynomial(*_f32(*_EXP)), r)


def _exp(x: Vector) -> Vector:
    n, p = _exp_parts(x.below(89.0).above(-104.0))
    half = n >> 1  # in two factors: one alone would overflow, or round a subnormal result twice
    return (p + 1.0) * _power_of_two(half) * _power_of_two(n - half)


def _expm1(x: Vector) -> Vector:
    n, p = _exp_parts(x.below(89.0).above(-25.0))
    half = _power_of_two(n - 1)
    large = p.fma(half, half - 0.5) * 2.0
    return n.equals(0).where(p, large)


def _log_finite(x: Vector, exponent_offset: Vector | None) -> Vector:
    """Of a positive normal number, plus the offset times log 2."""
    bits = x.cast("bitcast", "i32") - 0x3F3504F3  # of sqrt(1/2)
    exponent = (bits >> 23).cast("sitofp", "float")
    if exponent_offset is not None:
        exponent = exponent + exponent_offset
    f = ((bits & 0x7FFFFF) + 0x3F3504F3).cast("bitcast", "float") - 1.0
    z = f * f
    y = f * z * f.polynomial(*_f32(*_LOG))
    y = exponent.fma(_f32(_LN2_LOW)[0], y)
    y = z.fma(-0.5, y)
    return exponent.fma(_LN2_HIGH, f + y)


def _log_normal(x: Vector) -> Vector:
    """Of what is known to be at least the smallest normal number, or NaN."""
    return (x < math.inf).where(_log_finite(x, None), x)


def _log(x: Vector) -> Vector:
    tiny = x < 2.0**-126
    finite = _log_finite(tiny.where(x * 2.0**23, x), tiny.where(x.like(-23.0), 0.0))
    outside = x.equals(0.0).where(x.like(-math.inf), math.nan)
    return (x > 0.0).where((x < math.inf).where(finite, x), outside)


def _log1p(x: Vector) -> Vector:
    u = x + 1.0
    lost = (x - (u - 1.0)) / u
    sound = (u > 0.0) & (u < math.inf)
    return _log(u) + sound.where(lost, 0.0)


def _sigmoid(x: Vector) -> Vector:
    return 1.0 / (_exp(-x) + 1.0)


def _tanh(x: Vector) -> Vector:
    z = x * x
    small = (x * z).fma(z.polynomial(*_f32(*_TANH)), x)
    size = x.intrinsic("fabs")
    large = 1.0 - 2.0 / (_exp(size * 2.0) + 1.0)
    return (size > 0.625).where(large.intrinsic("copysign", x), small)


def _erf(x: Vector) -> Vector:
    z = x * x
    small = x * z.polynomial(*_f32(*_ERF))
    size = x.intrinsic("fabs")
    q = 1.0 / size
    y = q * q
    tail = (size < 2.0).where(y.polynomial(*_f32(*_ERFC_NEAR)), y.polynomial(*_f32(*_ERFC_FAR)))
    large = 1.0 - _exp(-z) * q * tail
    return (size > 1.0).where(large.intrinsic("copysign", x), small)


def _quadrant(x: Vector) -> tuple[Vector, Vector, Vector]:
    """The angle as (quarter turns, sine of the rest, cosine of the rest)."""
    whole, n = _whole(x * _TURNS)
    r = x
    for part in _f32(*_HALF_PI):
        r = whole.fma(-part, r)
    z = r * r
    sine = (r * z).fma(z.polynomial(*_f32(*_SIN)), r)
    cosine = (z * z).fma(z.polynomial(*_f32(*_COS)), z.fma(-0.5, 1.0))
    return n, sine, cosine


def _turned(n: Vector, even: Vector, odd: Vector) -> Vector:
    """Picks by quarter turn and flips the sign in the second half turn."""
    picked = (n & 1).equals(0).where(even, odd).cast("bitcast", "i32")
    return (picked ^ ((n & 2) << 30)).cast("bitcast", "float")


def _sin(x: Vector) -> Vector:
    n, sine, cosine = _quadrant(x)
    return _turned(n, sine, cosine)


def _cos(x: Vector) -> Vector:
    n, sine, cosine = _quadrant(x)
    return _turned(n + 1, sine, cosine)


def _pow(x: Vector, y: Vector) -> Vector:
    """In double precision, rounded once at the end."""
    size = x.intrinsic("fabs")
    bits = size.cast("fpext", "double").cast("bitcast", "i64") - 0x3FE6A09E667F3BCD  # of sqrt(1/2)
    exponent = (bits >> 52).cast("sitofp", "double")
    m = ((bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).cast("bitcast", "double")
    s = (m - 1.0) / (m + 1.0)
    series = (s * s).polynomial(*(2 / math.log(2) / (2 * k + 1) for k in range(6, -1, -1)))
    log2 = s.fma(series, exponent)
    log2 = size.equals(0.0).where(log2.like(-math.inf), size.equals(math.inf).where(log2.like(math.inf), log2))
    t = (log2 * y.cast("fpext", "double")).below(200.0).above(-200.0)
    shifted = t + 1.5 * 2.0**52
    r = (t - (shifted - 1.5 * 2.0**52)) * math.log(2)
    power = r.polynomial(*(1 / math.factorial(k) for k in range(8, -1, -1)))
    scale = (((shifted.cast("bitcast", "i64") & 0xFFF) + 1023) << 52).cast("bitcast", "double")
    result = (power * scale).cast("fptrunc", "float")
    return _pow_special(x, y, size, result)


def _pow_special(x: Vector, y: Vector, size: Vector, result: Vector) -> Vector:
    whole = y.intrinsic("floor").equals(y)
    half = y * 0.5
    odd = whole & half.intrinsic("floor").differs(half)
    result = (size.equals(1.0) | y.equals(0.0)).where(1.0, result)
    negative = x.cast("bitcast", "i32")._op("icmp slt", 0, "i1")
    result = (negative & odd).where(-result, result)
    undefined = (x < 0.0) & (x > -math.inf) & y.intrinsic("floor").differs(y)
    result = undefined.where(math.nan, result)
    missing = x.differs(x) & y.differs(0.0)
    return missing.where(math.nan, result)


FUNCTIONS: dict[str, Callable[..., Vector]] = {
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log_normal": _log_normal,
    "log1p": _log1p,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "erf": _erf,
    "sin": _sin,
    "cos": _cos,
    "pow": _pow,
}


def functions(used: set[str]) -> str:
    """The definitions of those functions that are used."""
    text = wrap() if "wrap" in used else ""
    for name in sorted(used & set(FUNCTIONS)):
        arguments = ["%x", "%y"][: 2 if name == "pow" else 1]
        signature = f"internal {FLOATS} @nalm.{name}({', '.join(f'{FLOATS} {a}' for a in arguments)})"
        w = Writer(signature, "alwaysinline #0")
        result = FUNCTIONS[name](*(Vector(w, a) for a in arguments))
        text += w.finish(f"ret {FLOATS} {result.name}")
    text += f"declare {FLOATS} @llvm.copysign.v{LANES}f32({FLOATS}, {FLOATS})\n"
    return text + f"declare <{LANES} x double> @llvm.fma.v{LANES}f64({', '.join([f'<{LANES} x double>'] * 3)})\n"
