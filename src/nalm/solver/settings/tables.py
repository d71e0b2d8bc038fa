"""When a search ends, what is done with many or wrong rows, and what is offered where there is no law."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tables:
    """When a search ends, what is done with many or wrong rows, and what is offered where there is no law."""

    # When a search ends.
    rivals: int = 20
    """Formulas judged after a find, so that a rival shows itself."""
    judged_in_vain: int = 150
    """Formulas of one shape, after which it is left: where so many come close and none is equal, all are chance. Of 65
    laws on U[1.1,1.2) none was found later than with the 19th, of the equations of the lists none later than with the
    90th; of inputs within a thousandth of each other, where everything comes close, tens of thousands were judged."""
    undecided: int = 30
    """After so many formulas that reproduce the data but are not pinned down, more of them decide nothing."""

    # Many rows.
    search_rows: int = 2000
    """Distinct rows that a search sees; more decide nothing that these do not, and cost time. All rows judge."""
    sampled_rows: int = 20_000
    """Rows of which repeats are counted, before a sample is taken: sorting a million takes seconds."""
    telling_repeats: int = 3
    """Rows that repeat, each with the target it had before, from which on this is no chance but a sign that there is no
    noise: two may be a slip."""
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
    nearly_all: float = 0.9995
    """Share of the variance from which on what is left is named: `explains 1` would say that nothing is."""
    twin_rounding: float = 1e-12
    """Share of its largest number by which a column may be off a line in another: some roundings of float64."""
    missing_marks: tuple[float, ...] = (99.0, 999.0, 9999.0, 99999.0, 999999.0)
    """Sizes of the numbers that stand for a missing one in many files, mostly below zero."""
    fewest_marked: int = 2
    """Rows with such a number at least: a single one may be a value."""
