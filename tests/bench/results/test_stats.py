"""Statistics against closed forms, independent optimisers and their promised coverage."""

from __future__ import annotations

import doctest
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special
from scipy import stats as distributions

from nalm.bench.results import stats
from nalm.bench.results.stats import (
    Interval,
    beta_mean,
    clustered_rate,
    disjoint,
    gamma_mean,
    paired_difference,
    wilson,
)

Z = 1.959963984540054


@pytest.mark.parametrize(("seeds", "cells"), [(25, 5), (10, 1)])
def test_a_clustered_rate_counts_between_the_seeds_and_all_runs(seeds: int, cells: int) -> None:
    half = seeds // 2
    together = clustered_rate([[seed < half] * cells for seed in range(seeds)])  # a seed decides for all its cells
    assert together == pytest.approx(wilson(half, seeds))
    alternating = clustered_rate([[(seed + cell) % 2 == 0 for cell in range(cells)] for seed in range(seeds)])
    assert together.high - together.low >= alternating.high - alternating.low
    assert clustered_rate([[True] * cells] * seeds) == wilson(seeds, seeds)
    assert clustered_rate([[False] * cells] * seeds) == wilson(0, seeds)


@pytest.mark.parametrize("fewest", [5, 1], ids=["all cells finished", "some seeds under way"])
def test_a_clustered_rate_covers_the_truth_where_runs_of_a_seed_are_bound(fewest: int) -> None:
    generator = np.random.default_rng(0)
    covered = independent = 0
    for _ in range(400):
        chances = generator.beta(0.5, 0.5, 25)  # strongly bound, half of them solved
        solved = [(generator.random(generator.integers(fewest, 6)) < chance).tolist() for chance in chances]
        bounds = clustered_rate(solved)
        naive = wilson(sum(map(sum, solved)), sum(map(len, solved)))
        covered += bounds.low <= 0.5 <= bounds.high
        independent += naive.low <= 0.5 <= naive.high
    assert covered >= 0.92 * 400 > independent


def test_a_seed_counts_as_much_as_it_has_runs() -> None:
    assert clustered_rate([[True] * 4, [False] * 4, [True], [False], [False]]).estimate == 5 / 11


@pytest.mark.parametrize("runs", [[], [[True], []]])
def test_a_clustered_rate_needs_runs_of_every_seed(runs: list[list[bool]]) -> None:
    with pytest.raises(ValueError, match="a list for each seed"):
        clustered_rate(runs)


def test_documentation_examples_hold() -> None:
    assert doctest.testmod(stats).failed == 0


# ------------------------------------------------------------------------------------------------------------- Wilson


@pytest.mark.parametrize(("n", "low"), [(10, 0.7225), (20, 0.8389), (25, 0.8668), (50, 0.9287), (100, 0.9630)])
def test_wilson_of_full_success_has_a_closed_form(n: int, low: float) -> None:
    interval = wilson(n, n)
    assert interval.low == pytest.approx(n / (n + Z**2), rel=1e-12)
    assert round(interval.low, 4) == low
    assert interval.high == 1.0
    assert interval.estimate == 1.0


@pytest.mark.parametrize("n", [1, 2, 25, 1000])
def test_wilson_bounds_solve_the_score_equation_and_mirror(n: int) -> None:
    for k in range(n + 1):
        rate, low, high = wilson(k, n)
        assert 0 <= low <= rate <= high <= 1
        for bound in {low, high} - {0.0, 1.0}:
            assert abs(rate - bound) / math.sqrt(bound * (1 - bound) / n) == pytest.approx(Z, rel=1e-9)
        assert wilson(n - k, n).low == pytest.approx(1 - high, abs=1e-12)


def test_wilson_covers_the_true_rate() -> None:
    outcomes = [wilson(k, 25) for k in range(26)]
    rates = np.linspace(0.02, 0.98, 49)
    covered = [
        sum(distributions.binom.pmf(k, 25, p) for k, i in enumerate(outcomes) if i.low <= p <= i.high) for p in rates
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.01)


def test_wilson_without_runs_knows_nothing_and_refuses_nonsense() -> None:
    nothing = wilson(0, 0)
    assert math.isnan(nothing.estimate)
    assert nothing[1:] == (0.0, 1.0)
    with pytest.raises(ValueError, match="26 of 25"):
        wilson(26, 25)
    with pytest.raises(ValueError, match="between 0 and 1, got 95"):
        wilson(1, 2, level=95)


# --------------------------------------------------------------------------------------- profile-likelihood intervals

Likelihood = Callable[[float, float], float]


def gamma_likelihood(data: np.ndarray) -> Likelihood:
    return lambda mean, shape: float(distributions.gamma.logpdf(data, shape, scale=mean / shape).sum())


def beta_likelihood(data: np.ndarray) -> Likelihood:
    """Beta on [0, 1/2] with the given mean and precision."""
    return lambda mean, v: float(distributions.beta.logpdf(data, 2 * mean * v, (1 - 2 * mean) * v, scale=0.5).sum())


def profile(likelihood: Likelihood, mean: float) -> float:
    """Best log-likelihood at this mean, by a bounded scalar optimiser on the raw density."""
    found = optimize.minimize_scalar(
        lambda t: -likelihood(mean, math.exp(t)), bounds=(-6, 16), method="bounded", options={"xatol": 1e-9}
    )
    return -float(found.fun)


GAMMA_DATA = {
    "shape 4": np.random.default_rng(0).gamma(4, 500, size=25),
    "skewed": np.random.default_rng(1).gamma(0.3, 1e5, size=25),
    "two values": np.array([1000.0, 9000.0]),
    "narrow": np.array([2000.0, 2000, 3000, 2000, 2000, 2000, 2000]),
}
BETA_DATA = {
    "middle": 0.5 * np.random.default_rng(0).beta(2, 3, size=25),
    "both ends": 0.5 * np.random.default_rng(1).beta(0.3, 0.2, size=25),
    "small": 0.5 * np.random.default_rng(2).beta(1, 1000, size=25),
    "near a half": 0.5 * np.random.default_rng(3).beta(50, 1, size=12),
    "two values": np.array([0.1, 0.3]),
}


@pytest.mark.parametrize("name", GAMMA_DATA)
def test_gamma_interval_agrees_with_an_independent_optimiser(name: str) -> None:
    data = GAMMA_DATA[name]
    likelihood, interval = gamma_likelihood(data), gamma_mean(data)
    assert interval.estimate == pytest.approx(data.mean(), rel=1e-15)
    assert interval.low < interval.estimate < interval.high
    best = optimize.minimize(
        lambda t: -likelihood(math.exp(t[0]), math.exp(t[1])),
        [math.log(data.mean()) + 0.1, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-10, "maxiter": 4000},
    )
    assert math.exp(best.x[0]) == pytest.approx(interval.estimate, rel=1e-5)
    for bound in (interval.low, interval.high):
        assert 2 * (-best.fun - profile(likelihood, bound)) == pytest.approx(Z**2, abs=1e-5)


@pytest.mark.parametrize("name", BETA_DATA)
def test_beta_interval_agrees_with_an_independent_optimiser(name: str) -> None:
    data = BETA_DATA[name]
    likelihood, interval = beta_likelihood(data), beta_mean(data)
    assert 0 < interval.low < interval.estimate < interval.high < 0.5
    best = optimize.minimize(
        lambda t: -likelihood(0.5 * float(special.expit(t[0])), math.exp(t[1])),
        [float(special.logit(2 * data.mean())), 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-10, "maxiter": 4000},
    )
    assert 0.5 * special.expit(best.x[0]) == pytest.approx(interval.estimate, rel=1e-5)
    for bound in (interval.low, interval.high):
        assert 2 * (-best.fun - profile(likelihood, bound)) == pytest.approx(Z**2, abs=1e-5)


def test_beta_mean_is_the_mean_and_not_half_of_it() -> None:
    """The published fit evaluated the density at x instead of 2x and so reported half the mean."""
    data = 0.5 * np.random.default_rng(5).beta(9, 1, size=100)
    assert beta_mean(data).estimate == pytest.approx(data.mean(), rel=0.01)


def test_beta_meets_the_gamma_where_the_upper_bound_is_far_away() -> None:
    shares = np.random.default_rng(6).gamma(2, size=25)
    shares /= shares.max()
    for scale in (0.4e-6, 0.6e-6, 1e-5):  # the first is below the switch, the others above
        np.testing.assert_allclose(beta_mean(scale * shares), gamma_mean(scale * shares), rtol=5e-5)


def test_gamma_and_beta_intervals_scale_with_their_units() -> None:
    data = BETA_DATA["middle"]
    np.testing.assert_allclose(gamma_mean(1000 * data), 1000 * np.array(gamma_mean(data)), rtol=1e-10)
    np.testing.assert_allclose(beta_mean(1000 * data, upper=500), 1000 * np.array(beta_mean(data)), rtol=1e-10)
    mirrored = beta_mean(0.5 - data)
    np.testing.assert_allclose(
        [0.5 - mirrored.estimate, 0.5 - mirrored.high, 0.5 - mirrored.low], beta_mean(data), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("interval_of", "draw", "mean"),
    [
        (gamma_mean, lambda g: g.gamma(3, 1000, size=25), 3000.0),
        (gamma_mean, lambda g: g.gamma(1, 1000, size=25), 1000.0),
        (beta_mean, lambda g: 0.5 * g.beta(1, 4, size=25), 0.1),
    ],
)
def test_intervals_cover_the_truth(
    interval_of: Callable[[np.ndarray], Interval], draw: Callable[[np.random.Generator], np.ndarray], mean: float
) -> None:
    generator = np.random.default_rng(11)
    intervals = [interval_of(draw(generator)) for _ in range(500)]
    coverage = np.mean([i.low <= mean <= i.high for i in intervals])
    assert 0.92 <= coverage <= 0.98  # 95 % within three standard errors of 500 trials, small-sample bias included


# --------------------------------------------------------------------------------------------------- degenerate input


@pytest.mark.parametrize("interval_of", [gamma_mean, beta_mean])
def test_equal_values_have_no_width_and_few_values_no_bounds(interval_of: Callable[..., Interval]) -> None:
    for value in (0.25, 0.0, 1e-9):
        assert interval_of([value] * 25) == pytest.approx((value, value, value), rel=1e-12)
    assert interval_of([0.25]).estimate == 0.25
    assert np.isnan(interval_of([0.25])[1:]).all()
    assert np.isnan(interval_of([])).all()
    with pytest.raises(ValueError, match=r"at least 0, got -0\.1"):
        interval_of([0.1, -0.1])
    with pytest.raises(ValueError, match="got nan; leave failed runs out"):
        interval_of([0.1, math.nan])


@pytest.mark.parametrize(
    ("interval_of", "data", "ceiling"),
    [
        (gamma_mean, [0.0, 1000.0, 1000.0], math.inf),
        (beta_mean, [0.0, 1e-7, 2e-7], 0.5),
        (beta_mean, [0.5, 0.5, 0.1], 0.5),
        (beta_mean, [0.7, 0.5, 0.1], math.inf),
        (gamma_mean, [1.0, 1.0 + 1e-6, 1.0], math.inf),
    ],
)
def test_what_no_density_fits_gets_the_t_interval(
    interval_of: Callable[..., Interval], data: list[float], ceiling: float
) -> None:
    mean, error = float(np.mean(data)), float(distributions.sem(data))
    low, high = distributions.t.interval(0.95, len(data) - 1, loc=mean, scale=error)
    assert interval_of(data) == pytest.approx((mean, max(0.0, low), min(ceiling, high)), rel=1e-12)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(1e-12, 0.5), min_size=2, max_size=30))
def test_any_sparsity_errors_give_an_ordered_interval_inside_the_support(data: list[float]) -> None:
    for interval in (beta_mean(data), gamma_mean(data)):
        assert 0 <= interval.low <= interval.estimate * (1 + 1e-12)
        assert interval.estimate <= interval.high * (1 + 1e-12)
    assert beta_mean(data).high <= 0.5


def test_values_of_wildly_different_size_stay_finite() -> None:
    assert np.isfinite(gamma_mean([1e-300, 1.0])).all()
    assert np.isfinite(beta_mean([1e-300, 0.4])).all()


# ------------------------------------------------------------------------------------------------- paired differences


def pairs(gains: int, losses: int, n: int) -> tuple[list[bool], list[bool]]:
    rest = n - gains - losses
    return [True] * (gains + rest) + [False] * losses, [False] * gains + [True] * (losses + rest)


def score_statistic(gains: int, losses: int, n: int, difference: float) -> float:
    """z of 'the rates differ by `difference`', its nuisance rate found by maximising the multinomial likelihood."""

    def negative(rate: float) -> float:
        concordant = 1 - difference - 2 * rate
        return -float(special.xlogy(losses, rate) + special.xlogy(gains, rate + difference)) - float(
            special.xlogy(n - gains - losses, concordant)
        )

    low, high = max(0.0, -difference), (1 - difference) / 2
    rate = optimize.minimize_scalar(negative, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
    return (gains - losses - n * difference) / math.sqrt(n * (2 * rate + difference - difference**2))


@pytest.mark.parametrize(("gains", "losses", "n"), [(6, 0, 10), (5, 3, 25), (1, 9, 25), (12, 2, 100)])
def test_paired_bounds_solve_the_score_equation(gains: int, losses: int, n: int) -> None:
    result = paired_difference(*pairs(gains, losses, n))
    assert (result.only_first, result.only_second) == (gains, losses)
    assert result.difference.estimate == (gains - losses) / n
    assert score_statistic(gains, losses, n, result.difference.low) == pytest.approx(Z, abs=1e-4)
    assert score_statistic(gains, losses, n, result.difference.high) == pytest.approx(-Z, abs=1e-4)


def test_paired_interval_excludes_zero_exactly_when_mcnemar_rejects_and_swaps_with_its_arguments() -> None:
    for n in (1, 2, 12):
        for gains, losses in itertools.product(range(n + 1), repeat=2):
            if gains + losses > n:
                continue
            first, second = pairs(gains, losses, n)
            (estimate, low, high), p_value, _, _ = paired_difference(first, second)
            assert -1 <= low <= estimate <= high <= 1
            assert (p_value < 0.05) == (not low <= 0 <= high)
            swapped = paired_difference(second, first).difference
            assert swapped == pytest.approx((-estimate, -high, -low), abs=1e-12)


def test_pairs_that_never_differ_have_a_closed_form() -> None:
    assert paired_difference([True] * 25, [True] * 25).difference.high == pytest.approx(Z**2 / (25 + Z**2), rel=1e-9)


@pytest.mark.parametrize(("gain", "loss"), [(0.3, 0.1), (0.1, 0.1), (0.6, 0.05), (0.05, 0.0)])
def test_paired_interval_covers_the_true_difference(gain: float, loss: float) -> None:
    n, covered = 25, 0.0
    for gains in range(n + 1):
        for losses in range(n + 1 - gains):
            weight = distributions.multinomial.pmf(
                [gains, losses, n - gains - losses], n, [gain, loss, 1 - gain - loss]
            )
            if weight > 1e-9:
                interval = paired_difference(*pairs(gains, losses, n)).difference
                covered += weight * (interval.low <= gain - loss <= interval.high)
    assert covered >= 0.93  # discreteness makes rare differences covered too often, never too seldom


def test_unpaired_input_is_refused() -> None:
    with pytest.raises(ValueError, match="equal length"):
        paired_difference([True, False], [True])
    with pytest.raises(ValueError, match="at least one pair"):
        paired_difference([], [])


# --------------------------------------------------------------------------------------------------------- comparison


def test_disjoint_intervals_share_no_point() -> None:
    assert disjoint(wilson(25, 25), (17, 25)) is (wilson(17, 25).high < wilson(25, 25).low)
    assert disjoint(wilson(25, 25), (0, 25))
    assert disjoint(wilson(0, 25), (25, 25))
    assert not disjoint(wilson(20, 25), (17, 25))
    assert not disjoint(Interval(1, 0, 2), Interval(3, 2, 4)), "touching intervals share their end"
    assert not disjoint(gamma_mean([5.0]), Interval(100, 90, 110)), "unknown bounds prove nothing"
