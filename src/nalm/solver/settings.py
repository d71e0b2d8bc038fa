"""Every threshold of the solver, with its unit and the derivation or experiment that fixed it.

"Laws" below are the 65 laws of `benchmarks/regression_laws.py`, "approximations" what fits the targets of
`benchmarks/solver_targets.py`, functions that no formula of the solver equals.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """One number for each decision; nothing else in the package holds a threshold of its own."""

    # What counts as equal. Errors are counted in roundings: what rounding every input and the target once explains.
    rounding: float = 2.0**-24
    """Relative. Half a unit in the last place of float32: what a stored number may be off."""
    fine_rounding: float = 2.0**-40
    """The same where float64 has all its digits: four thousand roundings, as a law may be computed in steps."""
    digit_rows: int = 200
    """Rows by which it is decided whether numbers have all digits of float64."""
    short_numbers: float = 0.1
    """Share of the numbers that may have fewer digits by chance: one in fifty ends in a zero that 14 digits cut."""
    exact_limit: float = 4.0
    """Roundings. Laws measure about 0.5; the data may have been computed in a few steps of float32."""
    noise_limit: float = 6.0
    """Standard deviations of the noise: exceeded by chance once in 5e8 rows."""
    printed_limit: float = 1.02
    """Half units of the last digit: a bound, so 1 and the rounding of binary fractions."""
    single_roundings: float = 1.2
    """Roundings. A fitted number may not hide behind several: the data hold one, and the fit takes up a part of it."""
    most_carried: float = 1e-2
    """Share of the target, or of the median target: more may not be explained by the rounding of the inputs.
    Differences of inputs on U[1.1,1.2) need 3e-6; formulas whose terms cancel to nothing take any share."""
    fewest_rows: int = 5
    """Rows. Below, no table is accepted."""
    most_digits: int = 8
    """Decimal digits. With as many or more a number is as good as a float32."""

    # Fitted numbers.
    most_constants: int = 5
    """Fitted real numbers in a claim: a damped wave has four, with an offset five. Each must be determined."""
    least_determined: float = 2e-5
    """Relative standard deviation of a fitted number in data without noise: the accuracy that the docs promise."""
    least_determined_under_noise: float = 0.05
    """The same under noise, a choice."""
    largest_denominator: int = 12
    """A choice: simple fractions only, as they become dense beyond."""
    fraction_chance: float = 4e-3
    """The chance that a random number lies within reach of a fraction, above which a fraction is not believed."""
    fraction_reach: float = 4.0
    """Standard deviations that a number may be away from the fraction it is taken for."""
    number_reach: float = 3.5
    """Standard deviations that a number may be away from the simple one it is taken for, under noise."""
    number_chance: float = 2e-3
    """Chance that a random coefficient lies within reach of a fraction this simple, under noise; above, the coefficient
    is called real."""
    usual_chance: float = 5e-3
    """The same for 1, 2, 1/2 and their negatives, which every second law holds, as a share of the number."""
    usual_together: float = 1e-2
    """The same where two or more coefficients are close to such a number at once."""
    least_misfit: float = 0.3
    """In tolerated errors: no data are taken for sharper, however well they fit. Errors spread evenly over one
    tolerance have a deviation of 1/sqrt(12)."""
    usual_away: float = 0.25
    """Share of such a number by which a coefficient may be away to be asked whether it is one."""
    exponent_chance: float = 2e-2
    """The same for the exponents of a product of inputs; above, the formula is ambiguous. Power laws with exponents off
    every grid are as common under noise as those with whole ones."""
    inner_exponent_chance: float = 0.15
    """The same for exponents of or within sums, where only whole ones and roots are known in laws."""
    hopeless: float = 1e3
    """Limits of float32. After one Gauss-Newton step an error this many times the limit does not come down."""
    beyond_repair: float = 10.0
    """Limits. Numbers that have been fitted leave the smallest root mean square there is; when it is this many times
    what a single row may be off, the same numbers made exact do not do better. Ten, as three steps may not be all."""
    shortest_reach: float = 0.5
    """Standard deviations by which a constant that is written with fewer digits may differ from the fitted one."""

    # Whether the data decide.
    spare_bits: float = 20.0
    """Bits of evidence left after paying for the formula: one false formula in a million of equal length."""
    row_margin: float = 2.0
    """Bits taken off what each row tells: an error of one deviation is nothing special, one of four is."""
    joining_bits: float = 2.5
    """Bits that say how a symbol is joined to the others, beside which one it is: sum, product, exponent, function."""
    rows_per_term: int = 3
    """Rows for each term of a cubic, so that an F test has twice as many degrees of freedom left as it spends."""
    most_cubic_terms: int = 84
    """Terms: a cubic in six inputs, the most that is asked for."""
    pinned: float = 1e-2
    """Relative deviation of predictions outside the data if every number were free: laws measure below 1e-3,
    approximations above 1 (a short formula with the right Taylor terms has numbers that trade against each other)."""
    pinned_in_print: float = 2e-3
    """The same for printed tables: laws with three digits measure below 1e-3, approximations from 1e-2."""
    pinned_under_noise: float = 0.05
    """The same under noise, where changes of curvature count among the free numbers."""
    argument_known: float = 2e-3
    """Share of the argument u of a function, for each u² of its mean square, under noise: standard deviation if it may
    bend. The Bessel function J0 is the cosine of an argument that is bent by u²/96, five times as much."""
    largest_square: float = 10.0
    """Mean square from which on a larger argument makes functions no more different: then 2 % must be known."""
    fewest_levels: int = 5
    """Different values of an input that a claim reads: through four points go curves of many kinds."""
    spare_digits: float = 2.0
    """Decimal digits. Several fitted numbers in a printed table are believed if they are this much rounder, in all."""
    beyond: tuple[float, float] = (0.5, 3.0)
    """Factors by which inputs are taken outside the data: within and far beyond, as users do. A choice."""
    beyond_rows: int = 64
    """Rows that are taken there; a median over them is known well enough."""
    same_under_noise: float = 2.0
    """Times the noise by which two formulas may differ there and still be one for all that such data can tell."""
    same_elsewhere: float = 1e-5
    """Relative. Two formulas that differ by less outside the data are one function in float32."""

    # Whether errors are random.
    structure_level: float = 1e-5
    """Chance that white errors are called structured by the F test, where there is no noise."""
    structure_level_under_noise: float = 2e-3
    """The same under estimated noise, where one formula is tested and not hundreds."""
    predictable: float = 4.0
    """Correlation of left-out predictions times the root of the rows: white errors exceed it once in a thousand."""
    predictable_without_fits: float = 5.5
    """The same for formulas without fitted numbers (once in a hundred thousand): they have less to hide, and must not
    be refused by chance."""
    kernel_widths: tuple[float, ...] = (1.0, 0.5, 0.2)
    """Widths of the kernels under noise, in units of the deviation of the inputs: a whole range to a tenth of it."""
    kernel_ridge: float = 0.1
    """Variance of the noise that the prediction test assumes, in that of what it looks for. A choice: the test is by
    correlation, so that only the smoothness of its guess depends on it."""
    kernel_blocks: int = 4
    """Blocks of rows that are asked: what four deny is not there."""
    neighbour_level: float = 2e-3
    """Chance that white errors are called structured because those of neighbours agree, over all ways to be close."""
    neighbour_steps: tuple[int, ...] = (1, 3, 8)
    """Steps along a coordinate: the first sees what changes from row to row, the last what changes slowly."""
    neighbour_columns: int = 12
    """Columns along which rows are sorted, those that the formula reads first."""
    nearest: int = 4
    """Nearest rows that are compared besides the nearest one."""
    nearest_rows: int = 5000
    """Rows among which the nearest are looked for."""
    fewest_pairs: int = 4
    """Pairs without which agreement says nothing."""
    kernel_rows: int = 512
    """Rows in one block of the prediction test, whose cost grows with their cube."""
    negligible_error: float = 1e-14
    """Relative. Smaller errors are those of float64 arithmetic and have structure of their own."""

    white_level: float = 0.05
    """Chance that a target of pure noise is taken for more by the F test, and searched deeply for nothing: the test is
    made to see all it can, as a law that it does not see is lost."""

    # Whether noise is likely, which decides what is tried first.
    fewest_to_level: int = 60
    """Rows, below which half of them say nothing."""
    regression_widths: tuple[float, ...] = (0.7, 1.5, 3.0)
    """Widths of the kernels of a regression, in deviations of the inputs times the root of their number."""
    regression_ridges: tuple[float, ...] = tuple(10.0**power for power in range(-10, 1))
    """Variances of the noise that the regression may assume, in those of the target: at 1 all is noise, and at 1e-10
    the rounding of the kernel's eigenvalues, 512 rows times 2e-16, is still far below."""
    foretold: float = 0.2
    """Median error at rows left out, in deviations of the target, above which a regression has learned nothing."""
    negligible_noise: float = 1e-6
    """The same, below which the arithmetic of the regression decides its error."""
    levelled: float = 1.3
    """Factor by which half of the rows may do worse where noise decides the error. Ten laws of Feynman's list measure
    1.5 to 6.5 without noise, and with noise of 0.01 and 0.1 deviations 0.9 to 1.7 and 0.9 to 1.2."""

    # Noise of unknown size.
    largest_noise: float = 0.1
    """Relative to each target. Above, laws and their neighbours are not told apart by the rows people have."""
    largest_share: float = 0.15
    """Additive noise as a share of the target's deviation, likewise."""
    least_noise: float = 1e-12
    """Relative. Smaller errors are those of float64 arithmetic."""
    clear_margin: float = 16.0
    """Noise variances by which a rival must be worse: four standard deviations."""
    blurred_group: int = 10
    """Formulas taken from each group of a shape where data are blurred: nothing exact guides a search to more."""
    blurred_proposals: int = 60
    """Formulas taken from each shape in all, likewise."""
    blurred_function_proposals: int = 200
    """The same for a shape with functions, which is a search through each of them: 60 would be those of exp."""
    blurred_function_terms: int = 1000
    """Terms with functions among which sums are looked for, the likeliest: a quarter of those without noise."""
    far_off: float = 10.0
    """Likely sizes of the noise. Refining the numbers of a proposal does not bring larger errors down to it."""
    off: float = 3.0
    """The same once they have been refined for one kind of noise, before they are for the other."""
    functional_proposals_blurred: int = 4
    """Formulas taken from each arithmetic shape of a derived problem: there are many, and the nearest come first."""
    cubic_excess: float = 1.5
    """By how much the noise may exceed what a cubic in the inputs leaves of the target: its own uncertainty."""
    listed_under_noise: int = 10
    """Formulas shown beside the chosen one."""

    # When a search ends.
    rivals: int = 20
    """Formulas judged after a find, so that a rival shows itself."""
    judged_in_vain: int = 400
    """Formulas of one shape, after which it is left: where so many come close and none is equal, all are chance. Of 65
    laws on U[1.1,1.2) none was found later than with the 19th; of inputs within a thousandth of each other, where
    everything comes close, tens of thousands of trees were judged."""
    undecided: int = 30
    """After so many formulas that reproduce the data but are not pinned down, more of them decide nothing."""

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
    """Times the expected relative error that a fit may leave: three deviations, beside what it may leave anyway."""
    snapped: float = 1e-3
    """Distance from the grid at which all weights are taken for grid points, without refitting one after another."""
    rank_cutoff: float = 1e-13
    """Singular values of unit columns, relative to the largest, that count as nothing: a few hundred roundings of
    float64."""
    square_cutoff: float = 1e-12
    """The same for a matrix of their products, whose singular values are squares."""
    tied_share: float = 1e-3
    """Share of a column in a combination that never changes, above which it is named as one of those tied by it: what
    is not part of it has a millionth, the root of `square_cutoff`."""
    spare_rows: int = 12
    """Rows beyond the numbers that a search fits, below which it would find something in any table. A choice."""
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
    affine_columns: int = 20
    """Up to this many inputs the factors may also hold a constant: the cost grows with the cube."""
    largest_ratio: int = 100
    """Denominator of the ratio of two weights in a quotient: 0.81 : 1 and its likes."""
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
    beam_rows: int = 256
    """Rows that rank sums; all rows judge."""
    beam_block: int = 256
    """Columns of the Gram matrix in memory at a time."""
    beam_tried: int = 30
    """On a narrow range very many sums come close; only the closest are worth a verdict."""
    most_features: int = 2500
    """Monomials in a dictionary: 50 MB of Gram matrix."""
    triple_columns: int = 10
    """Up to this many inputs, products of three are in the dictionary (960 of them for ten)."""

    # Forms and composites.
    close: float = 1e-4
    """Relative error left by a projection that is still worth a fit: float32 rounding, amplified by the condition."""
    most_small_trees: int = 3000
    """Trees compared in pairs: 4.5 million pairs in two matrix products."""
    rounded: float = 5e-6
    """Share of the target that rounding leaves when the linear part is taken out."""
    pairs_kept: int = 24
    """Pairs of small trees worth a fit."""

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
    cubic_columns: int = 3
    """Inputs of which a cubic in each may stand beside functions."""
    nearly_half: float = 0.05
    """Distance of a fitted exponent from a whole or half one, at which it is taken for that."""
    highest_exponent: int = 12
    """Of a product, from which on a fit is chance: none of the laws has more than 6 (Lennard-Jones has 12)."""
    profiles_kept: int = 6
    """Monomials for each function and scale that are worth a fit."""
    scanned_rows: int = 96
    """Rows that scan the scales of functions beside powers; all rows fit what is near."""
    profile_close: float = 0.05
    """One minus the correlation, above which a scale is not near; the scan's steps leave up to 0.02."""
    profile_scan: tuple[float, float, int] = (0.2, 12.0, 24)
    """Smallest and largest typical argument at which a function is tried, and how many: neighbours are 20 % apart.
    At 0.2 exp is a line but for 2 %, at 12 it has grown 160,000-fold."""
    profile_neighbour: float = 0.15
    """Share of a scale, to either side, within which it is refined: more than half a step of the scan."""
    profile_rounds: int = 60
    """Golden sections: each leaves 0.62 of the interval, sixty 3e-13 of it."""
    exact_scale: float = 1e-4
    """Relative distance from 1, 2 or 1/2 at which a scale is tried as such, too; the judge decides."""
    growth_scan: tuple[float, float, int] = (0.05, 30.0, 40)
    """Exponents over the range of an input at which exp and tanh are tried: at 0.05 exp is a straight line but
    for three parts in ten thousand, at 30 the largest value is 1e13 times the smallest."""
    wave_points: int = 12
    """Distinct values of an input, below which a wave through them says nothing."""
    wave_scales: float = 400.0
    """Radians over the range of an input up to which frequencies are scanned, in steps of one half."""
    wave_close: float = 0.3
    """Share of the target left at the best scanned scale, above which no wave is there."""
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
    curve_rows: int = 96
    """Rows that scan pairs of numbers; all rows refine them."""
    curve_starts: int = 3
    """Pairs that are refined."""
    curve_apart: float = 0.2
    """Share by which pairs must differ, so that not three neighbours are refined to the same curve."""
    curve_steps: int = 60
    """Values of the curve that a refinement may ask for."""
    turned_columns: int = 3
    """Inputs whose sine or cosine is tried below an inverse function, the most important first: six searches."""
    functional_proposals: int = 12
    """Formulas taken from each arithmetic shape of a derived problem."""

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
    split_hits: int = 400
    most_met: int = 4000
    """Trees in the window of one target, above which the view is flat and says nothing."""
    meet_chunk: int = 2_000_000
    """Pairs in memory at a time."""
    loose_values: int = 100_000
    """Trees and targets together, up to which meetings with a free offset are affordable."""
    split_values: int = 1_500_000
    """Trees times targets, up to which a split is affordable."""
    split_probes: int = 5
    """Probes that a split's meeting sees; all are asked when the factor is fitted."""
    split_sharp: float = 50.0
    """Error bounds the first value must be away from zero: blunter ones match anything."""
    split_wobble: float = 0.05
    """Relative spread of the factor at a probe that rounding explains, above which the probe says nothing of it."""
    shallow_leaves: int = 5
    """Up to this many leaves a tree search is cheaper than the composite shapes."""

    # Many rows.
    search_rows: int = 2000
    """Distinct rows that a search sees; more decide nothing that these do not, and cost time. All rows judge."""
    sampled_rows: int = 20_000
    """Rows of which repeats are counted, before a sample is taken: sorting a million takes seconds."""
    chunk_rows: int = 50_000
    """Rows judged at a time, 40 MB for a hundred columns."""
    most_outliers: float = 0.05
    """Share of the rows that may contradict a formula which is still shown as one that fits the others."""
    outlier_rows: int = 12
    """Rows drawn to look for a law among outliers: of 5 % wrong rows, twelve hold none in every second draw."""
    rows_per_column: int = 3
    """The same for each column, so that closed forms are overdetermined."""
    outlier_draws: int = 8
    """Draws: all of them meet a wrong row once in 140."""
    listed_rows: int = 8
    """Rows named in a sentence."""
    search_share: float = 0.7
    """Share of the time limit for the search; the rest is for judging all rows and for approximations."""
    outlier_share: float = 0.3
    """Share of what is then left for a look at outliers."""

    # When there is no law: sparse sums, and the front of approximations.
    fewest_held_out: int = 20
    """Rows, below which holding some out says nothing, and the straight line is shown."""
    front_rows: int = 2000
    """Rows that choose the terms of a sum: enough to tell the errors of two sums apart to a few per cent."""
    folds: int = 5
    """Parts of the rows, each held out once; the usual number."""
    longest_sum: int = 30
    """Terms: on the tables of `benchmarks/approximation.py` no sum longer than 25 was chosen."""
    chance_terms: int = 10
    """Terms that explain no more than the best of as many random ones would, after which no more are chosen: some are
    needed to see that others are (after five, `wave` loses x^5)."""
    rows_per_refused_number: int = 2
    """Rows for each number of a formula that is shown with a refusal: with fewer, its error says nothing at all."""
    rows_per_summand: int = 5
    """Rows for each term of the longest sum that is looked at."""
    rows_per_number: int = 20
    """Rows for each fitted number of a formula that was not held out itself: its error is then 10 % too small."""
    tried_on_front: int = 60
    """Formulas of the search that are measured for the front, best first."""
    single_columns: int = 30
    """Columns with terms of their own, the most important first."""
    paired_columns: int = 12
    """Columns whose products and quotients are terms: 264 of them for twelve."""
    highest_power: int = 4
    """Of one column; higher ones only differ at the ends of its range."""
    scales_spread: float = 1.5
    """Largest over smallest size of a column, below which its inverse is a parabola for all that rows can tell."""
    dependent: float = 1e-6
    """Share of a term's length that is left beside the terms chosen, below which it is one of them."""
    length_discount: float = 0.98
    """A term must explain 2 % more for each unit of size, so that of nearly equal ones the shorter is taken."""
    pole_distance: float = 0.1
    """Share of a column's range by which it must stay away from 0 for its inverse to be a term: new rows go a little
    beyond the old ones."""
    saturating_columns: int = 5
    """Positive columns whose products and quotients saturate: 65 of them for five."""
    saturating_shares: tuple[float, ...] = (0.2, 0.5, 0.8)
    """Quantiles at which they are half way up."""
    knee: float = 0.3
    """Standard errors of the difference by which a shorter formula may be worse than the best. The usual 1 leaves two
    of ten columns of the diabetes table (R^2 0.385 on unseen rows, linear regression 0.438)."""
    knee_share: float = 0.01
    """Share of the squared error by which it may be worse in any case: what nobody would notice."""
    knee_accuracy: float = 0.01
    """Deviations of the target by which predictions may be worse in any case: a hundredth is the width of a line in a
    figure. Smooth functions without noise are approached ever closer by ever longer sums (twenty powers of one input
    for a random network), and by the rules above the longest was chosen."""
    least_explained: float = 0.02
    """Share of the variance of held-out rows; below, no approximation is offered."""

    # Stacks of units.
    most_copies: int = 24
    """Copies of a wire that stand for a whole weight: more would be wider than any published stack."""
    most_factors: int = 5
    """Factors looked for when a stack is given."""


SETTINGS = Settings()
