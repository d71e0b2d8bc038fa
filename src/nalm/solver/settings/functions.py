"""How polynomials and formulas with elementary functions are searched."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Functions:
    """How polynomials and formulas with elementary functions are searched."""

    # Polynomials and functions.
    rows_per_coefficient: float = 1.25
    """Rows for each coefficient of a polynomial: some must be left to contradict it."""
    telling_features: int = 4
    """Functions of small trees, for each view of the target, that are searched as if they were inputs."""
    telling_rows: int = 256
    """Rows that rank functions and scan scales; all rows judge."""
    telling_block: int = 16
    """Functions that are ranked at a time, so that their multiples stay in a processor's cache: 2 MB for six inputs."""
    telling_chance: float = 1e-3
    """Chance that any of the functions explains so much of a target that it has nothing to do with; above, none is
    searched."""
    telling_ridge: float = 1e-9
    """Share of the trace added to the Gram matrix of a feature's multiples, which may be multiples of each other."""
    functions_in_product: int = 3
    """Functions beside the powers of a product."""
    functions_in_sum: int = 4
    """Terms with functions or powers beside a line: as many as Livermore-14 has, the longest sum of the lists."""
    function_sums: int = 60
    """Sums of each length that are kept for longer ones."""
    function_terms: int = 4000
    """Terms with functions among which sums are looked for: 16 million pairs, a few at a time."""
    terms_listed: int = 2
    """Terms with functions that are looked through for each one that is used: many are equal, or have no value."""
    cubic_columns: int = 3
    """Inputs of which a cubic in each may stand beside functions."""
    nearly_half: float = 0.05
    """Distance of a fitted exponent from a whole or half one, at which it is taken for that."""
    highest_exponent: int = 12
    """Of a product, from which on a fit is chance: none of the laws has more than 6 (Lennard-Jones has 12)."""
    profiles_kept: int = 6
    """Monomials for each function and scale that are worth a fit."""
    scanned_rows: int = 96
    """Rows that scan the scales of functions beside powers and of lines that change; more rows fit what is near."""
    scanned_per_column: int = 4
    """Rows for each column of a line beside which many functions are compared at once."""
    profile_close: float = 0.05
    """One minus the correlation, above which a scale is not near; the scan's steps leave up to 0.02."""
    rough_rows: int = 32
    """Rows that turn down nearly all functions beside powers and waves, before more rows are asked."""
    profile_likely: float = 0.25
    """One minus the correlation at these rows, above which a function is turned down: of one that has 0.05 at all rows,
    four deviations of what 32 rows show (Fisher's z)."""
    rough_unclear: float = 1e-4
    """Share of a logarithm's length that float32 must leave of it beside others for its angle to be known: a thousand
    roundings, so to a hundredth with those of the functions."""
    profile_scan: tuple[float, float, int] = (0.1, 24.0, 31)
    """Smallest and largest median argument at which a function is tried, and how many: neighbours are 20 % apart.
    From 0 to twice 0.1 exp is a line but for 2 %; a diode at room temperature has 16 at 0.4 V."""
    profile_neighbour: float = 0.15
    """Share of a scale, to either side, within which it is refined: more than half a step of the scan."""
    profile_rounds: int = 60
    """Golden sections: each leaves 0.62 of the interval, sixty 3e-13 of it."""
    exact_scale: float = 1e-4
    """Relative distance from 1, 2 or 1/2 at which a scale is tried as such, too; the judge decides."""
    growth_scan: tuple[float, float, int] = (0.05, 30.0, 40)
    """Exponents over the range of an input at which exp and tanh are tried: at 0.05 exp is a straight line but
    for three parts in ten thousand, at 30 the largest value is 1e13 times the smallest."""
    share_scan: tuple[float, float, float] = (0.5, 80.0, 0.5)
    """The same where errors count as shares of the target: there an exponential whose exponent is one off over the
    range is wrong by a factor of e at its end, however fast it grows. At 80 it grows by 1e35."""
    small_targets: float = 0.1
    """Share of the rows, those with the smallest targets, that are all weighted alike where errors count as shares of
    the target: a few may be next to zero by chance, and would then be all that counts."""
    many_sizes: float = 1e-4
    """The largest of these small targets, as a share of the largest of all, below which they count for nothing in a
    sum of squares: an error of all of it there is 1e-8 of that of the largest."""
    wave_points: int = 12
    """Distinct values of an input, below which a wave through them says nothing."""
    wave_scales: float = 400.0
    """Radians over the range of an input up to which frequencies are scanned, in steps of one half."""
    waved_columns: int = 4
    """Inputs, the most important first, whose products and quotients of two are tried as the argument of a wave: 18
    scans beside those of single inputs."""
    waves_across_two: int = 30
    """Radians over the range of each of two inputs, five turns, up to which a wave across both is looked for in errors:
    two thousand waves."""
    waves_across_three: int = 10
    """The same for three inputs: four thousand waves."""
    wave_likely: float = 0.5
    """Share of the target left at `rough_rows` at the best scanned scale, above which no wave is looked at closer: of
    0.3 at all rows, five deviations of what 32 rows show (0.91 of the squares explained, and 0.75)."""
    wave_determined: float = 1e-10
    """Share of a wave's squared length that must be new beside a line for its guess to count: a million roundings of
    float64; sines in float32 have 1e-14 of their own there. The slowest curve scanned, an exponential, has 7e-9."""
    wave_close: float = 0.3
    """The same at `telling_rows`, above which no wave is there."""
    changing_close: float = 0.05
    """The same for a line that changes along a curve: at the nearest step of the scan `a + (2 b - a) exp(k t)` leaves
    0.02 or less, for 50 exponents from 0.1 to 20 over the range of t."""
    wave_phase: float = 1e-3
    """Radians from a quarter turn, within which a phase is taken for one."""
    curved_columns: int = 3
    """Inputs of which curves with two unknown numbers are tried, the most important first: 27 scans."""
    rate_scan: tuple[float, float, int] = (0.3, 30.0, 9)
    """Exponents over the range of an input that start a curve; neighbours are 1.8 apart, and the best is refined."""
    turn_scan: tuple[float, float, float] = (1.0, 100.0, 1.0)
    """Radians over the range of an input, up to sixteen turns: a wave half a radian beside another is still like it."""
    turn_scan_of_two: tuple[float, float, float] = (1.0, 32.0, 1.0)
    """The same where two inputs are multiplied, up to five turns: a thousand pairs of waves."""
    strongest: int = 8
    """Waves that one of two may be, those which the target holds most of; a wave between two scanned ones shows in
    both."""
    centres: int = 25
    """Quantiles of an input at which peaks and steps are tried."""
    width_scan: tuple[float, float, int] = (0.01, 3.0, 16)
    """Widths of peaks and steps, in ranges of the input; wider ones are parabolas and lines."""
    shift_scan: tuple[float, float, int] = (0.02, 10.0, 12)
    """Distances of the pole of a shifted power from the data, in ranges of the input; further away it is a parabola."""
    shifted_exponents: tuple[float, ...] = (0.3, 0.7, 1.4, 2.2, 3.3, 5.0)
    """Exponents that start a shifted power, of both signs; the best is refined."""
    curve_rows: int = 64
    """Rows that scan pairs of numbers; all rows refine them."""
    curve_starts: int = 3
    """Pairs that are refined."""
    curve_apart: float = 0.2
    """Share by which pairs must differ, so that not three neighbours are refined to the same curve."""
    curve_steps: int = 20
    """Steps of a refinement; near enough a start the fifth is exact."""
    curve_ahead: float = 1e-6
    """Share of a number by which it is moved to see a slope: the root of the largest second difference that rounding
    leaves, 1e-12."""
    curve_gain: float = 1e-2
    """Share of the squared error that a step must gain for another to be worth it: the judge refines what is left."""
    hopeful_damping: float = 1.0
    """Damping, after steps that failed, at which a refinement has nothing more to gain."""
    longest_share: float = 0.5
    """Of a number in one step: further, the slopes say nothing."""
    curve_left: float = 0.05
    """Share of the target that a refined curve may leave, beside ten times the noise: a law leaves nothing else."""
    turned_columns: int = 3
    """Inputs whose sine or cosine is tried below an inverse function, the most important first: six searches."""
    functional_proposals: int = 12
    """Formulas taken from each arithmetic shape of a derived problem."""
