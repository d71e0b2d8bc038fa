"""What counts as equal, which fitted numbers are believed, and whether the data decide for a formula."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claims:
    """What counts as equal, which fitted numbers are believed, and whether the data decide for a formula."""

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

    step_share: float = 1e-3
    """Share of a step by which numbers that a converter gave may be off a multiple of it: their own rounding."""
    step_parts: tuple[int, ...] = (1, 2, 3)
    """Parts of the smallest gap between numbers that are tried as the step: it may be missing in a short table."""
    smallest_step: float = 1e-9
    """Share of the largest number; the rounding of float64 would be seen in smaller steps."""
    step_noise: float = 0.5
    """Steps. A noise below is mostly that of cutting numbers into steps, 1/sqrt(12) = 0.29 of one."""

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
    named_chance: float = 1e-4
    """Chance that a random number lies within reach of one with a name (a fraction of pi and its likes) as simple or
    simpler, above which it is not written as that. Smaller than for fractions, as laws hold these less often."""
    named_reach: float = 1e-12
    """Share of a number by which it may differ from one with a name at least: fits end with so much rounding."""
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
    slope_step: float = 1e-4
    """Deviations of an input by which it is moved to see how fast a slope changes."""
    smallest_direction: float = 1e-14
    """Share of the largest variance of a smooth function, below which rounding decides what a direction holds."""
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
    lone_errors: float = 0.15
    """Median distance of the errors from their median, over their root mean square, below which a few rows are all the
    noise: 0.67 if they are normal, 0.49 with tails as long as an exponential's, 0.44 for three degrees of freedom. With
    one row in ten off by a share it is 0.1 or less."""
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
