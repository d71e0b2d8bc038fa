"""How shapes without functions are searched: sums, products, quotients, forms, powers and trees."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Arithmetic:
    """How shapes without functions are searched: sums, products, quotients, forms, powers and trees."""

    # Linear combinations.
    largest_weight: int = 1000
    """A larger whole weight is a sign of columns that cancel."""
    negligible_weight: float = 1e-5
    """Share of the largest term, below which a term is rounding."""
    significant: float = 4.0
    """Standard deviations by which a fitted weight must differ from nothing."""
    nearly_explained: float = 0.05
    """Relative error above which a combination is not worth a verdict."""
    nearly_whole: float = 0.05
    """Distance from a whole weight at which it is rounded at once, before refitting."""
    blur_reach: float = 3.0
    """Times the expected relative error that a fit may leave, beside what it may leave anyway: three deviations. The
    square of a target has twice its relative error, its inverse more where targets are small: at 2, Feynman's II.11.3
    is lost in noise of 0.01."""
    snapped: float = 1e-3
    """Distance from the grid at which all weights are taken for grid points, without refitting one after another."""
    rank_cutoff: float = 1e-13
    """Singular values of unit columns, relative to the largest, that count as nothing: a few hundred roundings of
    float64."""
    many_columns: int = 40
    """Columns from which on a regression is worth a look at whether its columns are far from being one another's."""
    well_determined: float = 1e-6
    """Smallest over largest diagonal entry of the triangle, above which it loses no more than six of sixteen digits."""
    power_like: float = 0.9
    """Share of the deviation of logarithms that powers may leave to be rounded to whole ones: the wrong signs of noise
    leave more of it than a law does."""
    square_cutoff: float = 1e-12
    """The same for a matrix of their products, whose singular values are squares."""
    tied_share: float = 1e-3
    """Share of a column in a combination that never changes, above which it is named as one of those tied by it: what
    is not part of it has a millionth, the root of `square_cutoff`."""
    spare_rows: int = 12
    """Rows beyond the numbers that a search fits, below which it would find something in any table. A choice."""
    regressed_columns: int = 20
    """Inputs up to which one regression on all products of two ranks them: 230 terms; of more, correlations do."""
    ranking_rows: int = 20
    """Rows beyond the terms of a regression that ranks inputs, or says that a form does not fit. A choice."""
    powers_close: float = 0.02
    """Relative error left by a sum of powers that is worth a fit. A choice, wider than `close`: the fit itself weighs
    the rows, which this sieve does not."""
    fresh_share: float = 1e-5
    """Share of a feature's length that the base must leave of it: a hundred roundings of float32."""
    fresh_logarithm: float = 1e-7
    """The same for logarithms, per row and not per length, as float32 leaves 6e-8 of each."""
    guessed_whole: float = 0.2
    """Distance from whole weights at which a guess from fewer rows than inputs is rounded, and share of the largest
    weight below which one is left out. A choice; what is wrong does not pass the judge."""
    guess_rounds: int = 60
    """Rounds of reweighting, each with half the floor of the last: at 2**-60 it is below rounding."""
    guess_ridge: float = 1e-14
    """Share of the trace that keeps the reweighted Gram matrix from being singular."""
    guess_slack: float = 1e-6
    """Share of the sum of a row's sizes by which a linear program may miss the target: float32 adds up 6e-8 of each."""

    # Products of sums.
    sums_close: float = 1e-3
    """Relative error of a fit of factors without noise that is worth reading: it converges, or stays far above."""
    spectral_start: float = 0.1
    """Relative error within the span of the spectral directions, at which a start is good and all inputs are freed."""
    gauge_reach: float = 0.06
    """Distance from whole numbers of all weights of a factor whose largest is 1, 2 or 3, for them to be whole: a
    random weight is as near once in eight, two at once in 70, and the judge refuses what is wrong."""
    whole_weight: float = 2e-4
    """Distance at which one weight beside real ones is taken for whole: ten times what float32 leaves in a fit."""
    factor_work: float = 1e9
    """Products of numbers in the first step of all starts of a fit of factors, about a second; then there are fewer
    starts, or none. Two factors of a hundred inputs at a thousand rows take 4e7 for each."""
    quotient_columns: int = 300
    """Inputs whose quotient of sums is looked for: a null vector of 600 columns takes a second."""
    affine_columns: int = 20
    """Up to this many inputs the factors may also hold a constant: the cost grows with the cube."""
    largest_ratio: int = 100
    """Denominator of the ratio of two weights in a quotient: 0.81 : 1 and its likes."""
    ratio_product: int = 100_000
    """Its numerator times its denominator: to a millionth, by chance 0.6 % of numbers near 1 are such a fraction,
    and 6 % of those near 100 (20,000 drawn)."""
    ratio_reach: float = 1e-6
    """Relative. What a null vector leaves open in a ratio; a wrong fraction does not pass the judge."""
    real_in_sums: int = 3
    """Real weights inside the factors: as many as a claim may hold."""
    stall_steps: int = 12
    """Steps of Levenberg-Marquardt after which it must have gained `stall_gain`."""
    stall_gain: float = 0.05
    """Share of the squared error."""
    converged: float = 1e-9
    """Relative error at which a fit ends: below float32's rounding."""
    last_damping: float = 1e12
    """Damping at which a step is shorter than rounding, and the descent ends."""
    free_damping: float = 1e-3
    """Damping below which steps are Gauss-Newton's own: what they no longer gain, nothing will."""

    # Sparse sums.
    beam_close: float = 1e-5
    """Relative error left by a sparse sum that is worth a fit: narrower than `close`, as there are so many of them."""
    smallest_determinant: float = 1e-11
    """Of the Gram matrix of two unit columns: below, they differ by less than 3e-6."""
    beam_blunt: float = 1e-2
    """Relative error of a sum below which a Gram matrix cannot tell it from none: twice the root of a rounding over
    `smallest_determinant`."""
    beam_rows: int = 256
    """Rows that rank sums; all rows judge."""
    beam_block: int = 128
    """Columns of the Gram matrix at a time: of 3000 features 3 MB, which stay in a processor's cache; 256 take 1.6
    times as long."""
    beam_tried: int = 30
    """On a narrow range very many sums come close; only the closest are worth a verdict."""
    most_features: int = 2500
    """Monomials in a dictionary: 50 MB of Gram matrix."""
    triple_columns: int = 10
    """Up to this many inputs, products of three are in the dictionary (960 of them for ten)."""

    # Forms and composites.
    close: float = 1e-4
    """Relative error left by a projection that is still worth a fit: float32 rounding, amplified by the condition."""
    composite_rows: int = 256
    """Rows that rank small trees; all rows fit what is near."""
    composite_rows_in_noise: int = 1000
    """The same under noise, where likely formulas are told apart by many rows only."""
    most_small_trees: int = 3000
    """Trees compared in pairs: 4.5 million pairs in two matrix products."""
    rounded: float = 5e-6
    """Share of the target that rounding leaves when the linear part is taken out."""
    pairs_kept: int = 24
    """Pairs of small trees worth a fit."""

    # Sums of power laws.
    least_target: float = 1e-3
    """Share of the median target that is added before logarithms, as a target of zero has none."""
    start_spread: tuple[float, float] = (0.3, 3.0)
    """Deviation of the exponents that descents start with, around the nearest power law: from near to far."""
    start_anywhere: float = 1.5
    """The same for every third start, around zero: the exponents of laws are mostly within -3 and 3."""
    first_damping: float = 1e-2
    """Share of the mean curvature, at first; a step that succeeds divides it by 5, one that fails takes it times 4."""
    hopeless_damping: float = 1e6
    """Damping at which steps are too short to matter; when all starts have reached it and gain nothing, they end."""
    descent_gain: float = 1e-6
    """Share of the error that a step must gain to count as one."""
    arrived: float = 1e-3
    """Share of the error that is worth a fit, at which the best start has nothing more to gain."""
    descent_ridge: float = 1e-12
    """Share of the rows added to the Gram matrix of two terms, which may be one at first."""
    largest_logarithm: float = 200.0
    """Of a term: its square, summed over the rows, is still a number."""
    longest_step: float = 1.0
    """Of one exponent in one step: further, the slopes say nothing."""
    descents: int = 24
    """Starts, side by side: with 8, one of 11 laws of the Feynman lists is missed in two runs of four."""
    function_descents: int = 8
    """The same for each of dozens of functions."""
    signed_columns: int = 2
    """Inputs of both signs that are tried in the last term, the last ones first: functions stand there."""
    descent_rows: int = 128
    """Rows that descents see; all rows judge."""
    descent_steps: int = 20
    """Steps of Levenberg-Marquardt: those that succeeded on 19 laws of the lists took 4 to 10."""
    descent_doubt: int = 5
    """Steps after which the best start must have come near: on 15 laws of the lists it left 0.01 or less by then."""
    descent_hope: float = 0.05
    """Relative error that counts as near."""
    descent_settled: float = 0.01
    """Share of its error that the best start, once it is worth a fit, must gain in a step: noise leaves no more to gain
    (without it a step near the end leaves a thousandth)."""
    descent_look: int = 9
    """Steps after which only the best third of the starts goes on: those that succeeded on these laws were the best of
    all by then."""

    # Tree search.
    probes: int = 12
    """Rows at which trees are compared. Three sharp ones of 24 bits would do; the others stand in for blunt ones."""
    largest_value: float = 1e150
    """Of a tree: the product of two is still a number."""
    clear: float = 8.0
    """Error bounds that half of a tree's values must be away from nothing: else it is rounding, as u - u is."""
    sharp: float = 1e-3
    """Error bound, as a share of the largest value that a view shows, above which a meeting says nothing."""
    slack: float = 3.0
    """Error bounds by which two values that are equal may differ: the bounds are first order."""
    hits: int = 300
    """Meetings of one level that become formulas; loose ones (with a free offset) are mostly chance."""
    loose_hits: int = 60
    split_hits: int = 4000
    """The same for a split of all peeled targets of a level."""
    most_met: int = 4000
    """Trees in the window of one target, above which the view is flat and says nothing."""
    meet_chunk: int = 2_000_000
    """Pairs in memory at a time."""
    loose_values: int = 100_000
    """Trees and targets together, up to which meetings with a free offset are affordable."""
    kept_forest: int = 100_000
    """Pairs of trees in a step, up to which a list of trees is kept for other targets over the same inputs: 10 MB."""
    split_values: int = 1_500_000
    """Trees times targets, up to which a split is affordable."""
    split_share: float = 2.5
    """The same for each pair of trees that a step of the search may combine."""
    split_probes: int = 5
    """Probes that a split's meeting sees; all are asked when the factor is fitted."""
    split_sharp: float = 50.0
    """Error bounds the first value must be away from zero: blunter ones match anything."""
    split_wobble: float = 0.05
    """Relative spread of the factor at a probe that rounding explains, above which the probe says nothing of it."""
    shallow_leaves: int = 5
    """Up to this many leaves a tree search is cheaper than the composite shapes."""

    # Rules of marks.
    marked_columns: int = 20
    """Columns of 0, 1 and -1 among which those are looked for that decide the target: 4,845 fours."""
    marks_in_rule: int = 4
    """Columns that decide it together: sixteen cases."""

    # Stacks of units.
    most_copies: int = 24
    """Copies of a wire that stand for a whole weight: more would be wider than any published stack."""
    most_factors: int = 5
