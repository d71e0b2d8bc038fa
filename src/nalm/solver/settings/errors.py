"""Whether errors are random, and how large a noise of unknown size may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Errors:
    """Whether errors are random, and how large a noise of unknown size may be."""

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
    end_level: float = 0.01
    """Chance that the errors of a law are said to end too soon, by either of two tests. Errors spread evenly are seen
    in 99 tables of 100 with sixty rows."""
    fewest_to_end: int = 60
    """Rows below which the end of the errors is not seen: of tables with forty rows it is in 87 of 100."""
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

    choosing_rows: int = 200
    """Rows that choose the columns of a regression: one on so many takes 7 ms, and there are some ten."""
    choosing_widths: tuple[float, ...] = (1.5,)
    """Widths of its kernels meanwhile: which columns help hardly depends on them."""
    most_helpful: int = 8
    """Columns it may have, the most important ones: with more, rows are too far from each other to tell anything."""
    as_helpful: float = 1.05
    """Factor by which fewer columns may do worse: of 200 errors the root mean square is known to 5 %."""
    told: float = 0.7
    """Share of the target's deviation that it must not leave for the rest to be called noise, half of the variance: a
    wave of three inputs passes for noise (Feynman's III.8.54 leaves 0.99)."""
    cheaply_searched: int = 6
    """Columns up to which small exact formulas are searched for at once: that takes 0.3 s for six and 1.5 s for ten;
    to see whether all that is left is noise takes 0.2 to 0.4 s."""

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
    off: float = 1.0
    """The same once they have been refined for one kind of noise, before they are for the other: then half of the
    errors are below the likely size, even of noise that is larger where targets are."""
    functional_proposals_blurred: int = 4
    """Formulas taken from each arithmetic shape of a derived problem: there are many, and the nearest come first."""
    cubic_excess: float = 1.5
    """By how much the noise may exceed what a cubic in the inputs leaves of the target: its own uncertainty."""
    far_less: float = 0.5
    """Share of an error that a formula met without noise must leave at most, to stand beside those under noise. By
    chance ten fitted numbers take a seventh from the error of forty rows."""
    listed_under_noise: int = 10
    """Formulas shown beside the chosen one."""
