"""The field's statistics, done right: arrays in, numbers out.

Success rates get Wilson intervals, steps-to-solve a gamma and sparsity errors a beta profile-likelihood interval of
the mean. The published summaries use the same families, but two faults make their means incomparable: the beta density
for errors on [0, 1/2] was evaluated at x instead of 2x, which halves the reported mean whenever the fit succeeds, and
the gamma optimiser often stopped short, although the maximum-likelihood mean of a gamma is simply the sample mean.

What the values cannot tell is `nan`: everything without a value, the bounds with a single one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special
from scipy import stats as distributions

Values: TypeAlias = Sequence[float] | NDArray[np.generic]
# Below this spread (standard deviation over mean) the likelihoods lose digits, and the t interval is as good.
_LEAST_SPREAD = 1e-4
# Below this fraction of the support a beta is a gamma to the same fraction, and only the gamma keeps its digits.
_GAMMA_LIMIT = 1e-6


class Interval(NamedTuple):
    """A point estimate between its confidence bounds."""

    estimate: float
    low: float
    high: float


class Paired(NamedTuple):
    """How two units differ on the same runs: see `paired_difference`."""

    difference: Interval
    p_value: float
    only_first: int
    only_second: int


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a success rate; `(nan, 0, 1)` when nothing was tried.

    >>> round(wilson(25, 25).low, 4)
    0.8668
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n, got {successes} of {n}")
    return _wilson(successes / n, n, level) if n else Interval(math.nan, 0.0, 1.0)


def _wilson(rate: float, n: float, level: float) -> Interval:
    z = _normal_quantile(level)
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    # At the ends one bound is exact; rounding must not move it.
    return Interval(rate, 0.0 if rate == 0 else centre - half, 1.0 if rate == 1 else centre + half)


def clustered_rate(solved: Sequence[Sequence[bool]], level: float = 0.95) -> Interval:
    """The success rate over several cells that share seeds, the finished runs of a seed in each list: they succeed and
    fail together, so that they count for less than as many independent ones.

    Wilson's interval with the effective number of runs (Kish 1965): that of independent runs whose rate would vary as
    much as the rates of the seeds do, each seed with the weight of its runs. At least one run per seed counts, at most
    all; where every run is solved, or none is, the seeds cannot tell how strongly they bind, and only they count.

    >>> together, apart = [[True] * 4] * 5 + [[False] * 4] * 5, [[True, False] * 2] * 10
    >>> [round(clustered_rate(runs).low, 2) for runs in (together, apart)]
    [0.24, 0.35]
    """
    counts = np.array([len(runs) for runs in solved], dtype=np.float64)
    if not counts.size or not counts.all():
        raise ValueError("runs come as a list for each seed, none of them empty, and at least one")
    seeds, runs = counts.size, float(counts.sum())
    successes = np.array([sum(runs) for runs in solved], dtype=np.float64)
    rate = float(successes.sum()) / runs
    if rate in (0.0, 1.0) or seeds == 1:
        return _wilson(rate, seeds, level)
    variance = seeds / (seeds - 1) * float(np.square(successes - rate * counts).sum()) / runs**2
    effective = rate * (1 - rate) / max(variance, 1e-300)
    return _wilson(rate, min(max(effective, seeds), runs), level)


def gamma_mean(values: Values, level: float = 0.95) -> Interval:
    """The mean of a gamma and its profile-likelihood interval: for steps-to-solve.

    The estimate is the sample mean, as maximum likelihood demands. With the shape profiled out, the likelihood of a
    mean depends on the data through one number only, so that the two bounds follow from roots on a line.
    Falls back to Student's t interval, cut at 0, when a value is 0 (solved before the first step; a gamma has no
    zeros) or when the values hardly differ; values that are all equal give an interval of no width.

    >>> [round(bound) for bound in gamma_mean([1000, 2000, 4000, 1000])]
    [2000, 1066, 4434]
    """
    data = _checked(values, least=0)
    if _unfit(data):
        return _student(data, level, math.inf)
    mean = float(data.mean())
    spread = -float(np.log(data / mean).mean())  # log of the arithmetic over the geometric mean

    def fitted(shape: float) -> float:  # the spread at which this shape is the most likely; decreasing
        return math.log(shape) - float(special.digamma(shape))

    def peak(shape: float) -> float:  # mean log-likelihood there, up to a constant of the data; increasing
        return shape * float(special.digamma(shape)) - shape - math.lgamma(shape)

    shape = _root(lambda k: fitted(k) - spread, start=0.5 / spread)
    lowest = peak(shape) - _normal_quantile(level) ** 2 / (2 * data.size)
    excess = fitted(_root(lambda k: lowest - peak(k), start=shape)) - spread

    def surplus(log_ratio: float) -> float:  # of log(sample mean / mean); 0 at both bounds
        return math.expm1(log_ratio) - log_ratio - excess

    down = optimize.brentq(surplus, 0, math.sqrt(2 * excess), xtol=1e-14)
    up = -optimize.brentq(surplus, -(1 + excess), 0, xtol=1e-14)
    return Interval(mean, mean * math.exp(-down), mean * math.exp(min(up, 700.0)))  # exp overflows above


def beta_mean(values: Values, upper: float = 0.5, level: float = 0.95) -> Interval:
    """The maximum-likelihood mean of a beta stretched to [0, upper] and its profile-likelihood interval: for sparsity.

    Falls back to Student's t interval, cut to the support, and to the sample mean when a value sits on a bound (weights
    that were projected onto their grid have an error of exactly 0, which a beta never has), when the values hardly
    differ, or when one lies above `upper` (a unit without a box). Values that are all equal give no width.

    >>> [round(bound, 3) for bound in beta_mean([0.1, 0.2, 0.25, 0.15, 0.3])]
    [0.2, 0.135, 0.275]
    """
    data = _checked(values, least=0)
    if _unfit(data) or data.max() >= upper:
        return _student(data, level, upper if max(data, default=0) <= upper else math.inf)
    share = data / upper
    if share.max() < _GAMMA_LIMIT:
        return gamma_mean(data, level)
    means = _beta_profile(float(np.log(share).mean()), float(np.log1p(-share).mean()), data.size, level)
    return Interval(*(upper * mean for mean in means))


def paired_difference(first: Sequence[bool], second: Sequence[bool], level: float = 0.95) -> Paired:
    """Success rate of the first minus the second unit on the same runs, `first[i]` and `second[i]` sharing a seed.

    The interval is Tango's ("Equivalence test and confidence interval for the difference in proportions for the paired-
    sample design", 1998): all differences that McNemar's score test does not reject, as Wilson's interval is all rates
    that the binomial score test does not reject. So it excludes 0 exactly when the p-value, McNemar's, is below
    1 - level. Both are among the methods Fagerland, Lydersen and Laake (2014) recommend for small samples.

    >>> round(paired_difference([True] * 9 + [False], [True] * 3 + [False] * 7).p_value, 4)
    0.0143
    """
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if a.ndim != 1 or a.shape != b.shape or not a.size:
        raise ValueError(f"pairs need two lists of equal length, at least one pair, got shapes {a.shape} and {b.shape}")
    n, gains, losses, z = a.size, int(np.sum(a & ~b)), int(np.sum(~a & b)), _normal_quantile(level)
    bounds = -_tango_bound(losses, gains, n, z), _tango_bound(gains, losses, n, z)
    p_value = math.erfc(abs(gains - losses) / math.sqrt(2 * max(gains + losses, 1)))
    return Paired(Interval((gains - losses) / n, *bounds), p_value, gains, losses)


def disjoint(ours: Interval, published: Interval | tuple[int, int]) -> bool:
    """Whether two intervals share no point. A published pair `(successes, n)` becomes its Wilson interval.

    Two 95 % intervals that do not touch are stronger evidence than p < 0.05; overlap does not prove agreement.
    >>> disjoint(wilson(25, 25), (12, 25))
    True
    """
    theirs = published if isinstance(published, Interval) else wilson(*published)
    return ours.high < theirs.low or theirs.high < ours.low


def _normal_quantile(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, got {level}")
    return float(special.ndtri((1 + level) / 2))


def _checked(values: Values, least: float = -math.inf) -> NDArray[np.float64]:
    data = np.asarray(values, dtype=np.float64).ravel()
    wrong = data[~(np.isfinite(data) & (data >= least))]
    if wrong.size:
        raise ValueError(f"values must be finite and at least {least:g}, got {wrong[0]:g}; leave failed runs out")
    return data


def _unfit(data: NDArray[np.float64]) -> bool:
    """Whether no gamma or beta can be fitted: too few values, an exact zero, or hardly any spread."""
    return data.size < 2 or data.min() == 0 or bool(data.std() <= _LEAST_SPREAD * data.mean())


def _student(data: NDArray[np.float64], level: float, upper: float) -> Interval:
    if data.size < 2:
        return Interval(float(data[0]) if data.size else math.nan, math.nan, math.nan)
    mean = float(data.mean())
    half = float(distributions.t.ppf((1 + level) / 2, data.size - 1) * data.std(ddof=1) / math.sqrt(data.size))
    return Interval(mean, max(0.0, mean - half), min(upper, mean + half))


def _root(decreasing: Callable[[float], float], start: float) -> float:
    """The root of a decreasing function on the positive numbers, to a relative 1e-13, whatever its magnitude."""

    def value(exponent: float) -> float:
        return decreasing(math.exp(exponent))

    here = math.log(start)
    step = math.copysign(1.0, value(here))
    there = here + step
    while value(there) * step > 0:
        here, there, step = there, there + 2 * step, 2 * step
    return math.exp(optimize.brentq(value, min(here, there), max(here, there), xtol=1e-13))


def _beta_profile(log_x: float, log_rest: float, n: int, level: float) -> tuple[float, float, float]:
    """Mean and bounds of a standard beta from n values, given the means of log x and log(1 - x).

    The likelihood is concave in (alpha, beta) and a mean is a ray from the origin, so along a ray there is one best
    precision alpha + beta, and the profile over the means rises to one peak: all roots below are unique.
    """

    def parameters(odds: float) -> tuple[float, float]:
        mean, rest = odds / (1 + odds), 1 / (1 + odds)

        def slope(precision: float) -> float:
            total, part, other = special.digamma(np.array([1.0, mean, rest]) * precision)
            return float(mean * (total - part + log_x) + rest * (total - other + log_rest))

        precision = _root(slope, start=1 / min(mean, rest))
        return mean * precision, rest * precision

    def score(odds: float) -> float:
        alpha, beta = parameters(odds)
        return float(special.digamma(beta) - special.digamma(alpha)) + log_x - log_rest

    def likelihood(odds: float) -> float:
        alpha, beta = parameters(odds)
        return alpha * log_x + beta * log_rest - float(special.betaln(alpha, beta))

    best = _root(score, start=math.exp(log_x - log_rest))
    lowest = likelihood(best) - _normal_quantile(level) ** 2 / (2 * n)
    low = _root(lambda odds: lowest - likelihood(odds), start=best)  # falls up to the peak
    high = _root(lambda odds: likelihood(odds) - lowest, start=best)  # falls from the peak
    return best / (1 + best), low / (1 + low), high / (1 + high)


def _tango_bound(gains: int, losses: int, n: int, z: float) -> float:
    """The largest difference in favour of the gains that McNemar's score test does not reject."""

    def surplus(difference: float) -> float:  # of the z statistic over -z; decreasing
        linear = (2 * n - gains + losses) * difference - gains - losses
        root = math.sqrt(linear**2 + 8 * n * losses * difference * (1 - difference))
        rate = (root - linear) / (4 * n)  # most likely rate of losses given the difference
        deviation = math.sqrt(max(n * (2 * rate + difference * (1 - difference)), 1e-300))
        return (gains - losses - n * difference) / deviation + z

    estimate = (gains - losses) / n
    return 1.0 if surplus(1 - 1e-12) > 0 else float(optimize.brentq(surplus, estimate, 1 - 1e-12))
