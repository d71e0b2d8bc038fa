"""The one list of shapes, in the order in which they are tried, and how far each effort takes them.

To add a shape: write `my_shape(problem, ...) -> Groups` in a module of its own, and add one line to `SHAPES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.composite import product_with_factors, sum_with_trees
from nalm.solver.shapes.factored import product_of_sums, quotient_of_sums
from nalm.solver.shapes.forms import monomial_times_form
from nalm.solver.shapes.functions.around import around
from nalm.solver.shapes.functions.changing import changing_line
from nalm.solver.shapes.functions.curves import curves
from nalm.solver.shapes.functions.inside import inside
from nalm.solver.shapes.functions.of_curve import of_curve
from nalm.solver.shapes.functions.product import product_with_functions
from nalm.solver.shapes.functions.profile import beside_powers
from nalm.solver.shapes.functions.sum import sum_with_functions
from nalm.solver.shapes.functions.wave import waves
from nalm.solver.shapes.marks import rule_of_marks
from nalm.solver.shapes.monomials import sum_of_products
from nalm.solver.shapes.polynomials import polynomial, rational
from nalm.solver.shapes.power_laws import power_laws_with_function, sum_of_power_laws
from nalm.solver.shapes.products import product_of_powers
from nalm.solver.shapes.quadratic import root_of_quadratic
from nalm.solver.shapes.shape import EVERY, Cost, Effort, Groups, Scope, Shape
from nalm.solver.shapes.sums import sum_of_inputs, sum_of_powers
from nalm.solver.shapes.trees.search import tree

EFFORTS = {
    "quick": Effort(
        pair_starts=4, starts=2, most_factors=2, sum_columns=5, tree_columns={4: 6}, tree_budget=100_000,
        costs=Cost.SHALLOW,
    ),
    "normal": Effort(
        pair_starts=8, starts=4, most_factors=3, sum_columns=6, long_columns=10, long_terms=5, form_columns=10,
        composite_columns=6, tree_columns={4: 30, 5: 10, 6: 7, 7: 5}, tree_budget=600_000,
    ),
    "high": Effort(
        pair_starts=20, starts=10, most_factors=5, sum_columns=6, long_columns=14, long_terms=8, form_columns=14,
        composite_columns=6, tree_columns={4: 100, 5: 20, 6: 14, 7: 10}, tree_budget=6_000_000,
    ),
}  # fmt: skip

BLURRED = Effort(pair_starts=3, sum_columns=6, sum_width=30, form_columns=6, composite_columns=5)
"""Where data are blurred by noise or few digits: many formulas come close, so fewer of each shape are looked at."""

DERIVED = Effort(sum_columns=7, composite_columns=6, tree_columns={4: 6}, tree_budget=100_000)
"""A problem seen through functions: one of many, so each is searched quickly."""

ALONE = Effort(sum_terms=4)
"""One shape, all columns."""


def _products_of_sums(k: int) -> Shape:
    def propose(scope: Scope) -> Groups:
        if k <= scope.effort.most_factors:
            starts = scope.effort.pair_starts if k == 2 else scope.effort.starts
            yield from product_of_sums(scope.problem, k=k, starts=starts)

    if k == 2:
        return Shape("product of 2 sums", Cost.ITERATION, propose, blurred_cost=Cost.SHALLOW)
    return Shape(f"product of {k} sums", Cost.DEEP, propose)


def _trees(leaves: int) -> Shape:
    def propose(scope: Scope) -> Groups:
        columns = scope.effort.tree_columns
        # A deeper search over the same columns finds these trees as well; one over every column is there to be alone.
        contained = scope.problem.columns <= columns.get(leaves + 1, 0) < EVERY
        if leaves in columns and (leaves == SETTINGS.shallow_leaves or not contained):
            chosen = scope.columns(columns[leaves])
            yield from tree(scope.problem, chosen, most_leaves=leaves, budget=scope.effort.tree_budget)

    return Shape(f"tree to {leaves} leaves", Cost.SHALLOW if leaves <= SETTINGS.shallow_leaves else Cost.DEEP, propose)


def _sums_of_products(scope: Scope) -> Groups:
    effort = scope.effort
    return sum_of_products(scope.problem, scope.columns(effort.sum_columns), effort.sum_terms, effort.sum_width)


def _sum_of_power_laws(scope: Scope) -> Groups:
    return sum_of_power_laws(scope.problem, scope.columns(scope.effort.power_columns))


def _power_laws_with_function(scope: Scope) -> Groups:
    columns = scope.columns(scope.effort.function_columns)
    return power_laws_with_function(scope.problem, columns, scope.effort.functions)


def _longer_sums_of_products(scope: Scope) -> Groups:
    return sum_of_products(scope.problem, scope.columns(scope.effort.long_columns), scope.effort.long_terms)


def _quotient_with_constants(scope: Scope) -> Groups:
    if scope.problem.columns <= SETTINGS.affine_columns:
        yield from quotient_of_sums(scope.problem, affine=True)


def _product_with_constants(scope: Scope) -> Groups:
    if scope.problem.columns <= SETTINGS.affine_columns:
        yield from product_of_sums(scope.problem, k=2, starts=scope.effort.starts, affine=True)


def _monomial_times_form(scope: Scope) -> Groups:
    return monomial_times_form(scope.problem, scope.columns(scope.effort.form_columns))


def _product_with_factors(scope: Scope) -> Groups:
    return product_with_factors(scope.problem, scope.columns(scope.effort.composite_columns))


def _sum_with_trees(scope: Scope) -> Groups:
    return sum_with_trees(scope.problem, scope.columns(scope.effort.composite_columns))


def _first_of(shapes: Sequence[Shape]) -> Callable[[Problem], Groups]:
    """The first formulas of arithmetic shapes, for a problem seen through functions; fewer rows propose."""

    def propose(problem: Problem) -> Groups:
        effort = replace(DERIVED, sum_width=BLURRED.sum_width) if problem.noisy else DERIVED
        scope = Scope(problem.of_rows(slice(0, SETTINGS.telling_rows)), effort)
        if not problem.noisy:
            return (islice(proposals(shape, scope), SETTINGS.functional_proposals) for shape in shapes)
        blurred = (shape for shape in shapes if shape.blurred_cost is not None)
        return (islice(proposals(shape, scope), SETTINGS.functional_proposals_blurred) for shape in blurred)

    return propose


def _polynomials(scope: Scope) -> Groups:
    return polynomial(scope.problem, scope.columns(scope.effort.function_columns))


def _rationals(scope: Scope) -> Groups:
    return rational(scope.problem, scope.columns(scope.effort.function_columns))


def _roots_of_quadratics(scope: Scope) -> Groups:
    return root_of_quadratic(scope.problem, scope.columns(scope.effort.function_columns))


def _enough_rows(problem: Problem) -> bool:
    """Would a search through functions not find something in any table?"""
    return problem.rows >= problem.columns + SETTINGS.spare_rows


def _around(scope: Scope) -> Groups:
    if not _enough_rows(scope.problem):
        return iter(())
    columns = scope.columns(scope.effort.function_columns)
    below = _first_of((*THROUGH_FUNCTIONS, *BELOW_FUNCTIONS))
    return around(scope.problem, columns, scope.effort.functions, below, _growth)


def _growth(problem: Problem) -> Groups:
    """An exponent with the logarithm of 1 + k x times another column: `(1 + k x) ** t`, as interest grows."""
    return waves(problem, Scope(problem, DERIVED).columns(DERIVED.function_columns), (Function.LOG,))


def _inside(scope: Scope) -> Groups:
    chosen, columns = scope.effort.functions, scope.columns(scope.effort.function_columns)
    if not chosen or not _enough_rows(scope.problem):
        return iter(())
    cheap, more = _first_of(THROUGH_FUNCTIONS), _first_of(THROUGH_FUNCTIONS_MORE)
    return inside(scope.problem, columns, chosen, cheap, more)


def _beside_powers(scope: Scope) -> Groups:
    columns = scope.columns(scope.effort.function_columns)
    return beside_powers(scope.problem, columns) if scope.effort.functions else iter(())


def _product_with_functions(scope: Scope) -> Groups:
    columns = scope.columns(scope.effort.function_columns)
    return product_with_functions(scope.problem, columns, scope.effort.functions)


def _sum_with_functions(scope: Scope) -> Groups:
    columns = scope.columns(scope.effort.function_columns)
    return sum_with_functions(scope.problem, columns, scope.effort.functions) if scope.effort.functions else iter(())


def _curves(scope: Scope) -> Groups:
    return curves(scope.problem, scope.columns(scope.effort.function_columns), scope.effort.functions)


def _changing_line(scope: Scope) -> Groups:
    return changing_line(scope.problem, scope.columns(scope.effort.function_columns), scope.effort.functions)


def _of_curve(scope: Scope) -> Groups:
    return of_curve(scope.problem, scope.columns(scope.effort.function_columns), scope.effort.functions)


def _waves(scope: Scope) -> Groups:
    return waves(scope.problem, scope.columns(scope.effort.function_columns), scope.effort.functions)


CLOSED_FORMS = (
    Shape("sum", Cost.CLOSED_FORM, lambda scope: sum_of_inputs(scope.problem), Cost.CLOSED_FORM),
    Shape("product", Cost.CLOSED_FORM, lambda scope: product_of_powers(scope.problem), Cost.CLOSED_FORM),
    Shape("sum of powers", Cost.CLOSED_FORM, lambda scope: sum_of_powers(scope.problem), Cost.CLOSED_FORM),
    Shape("quotient of sums", Cost.CLOSED_FORM, lambda scope: quotient_of_sums(scope.problem), Cost.CLOSED_FORM),
)
SUM_OF_PRODUCTS = Shape("sum of products", Cost.SHALLOW, _sums_of_products, blurred_cost=Cost.SHALLOW)
POWER_LAWS = Shape("sum of power laws", Cost.SHALLOW, _sum_of_power_laws, blurred_cost=Cost.SHALLOW)
QUOTIENT_WITH_CONSTANTS = Shape("quotient of sums with constants", Cost.SHALLOW, _quotient_with_constants)
SMALL_TREES = _trees(4)
POLYNOMIAL = Shape("polynomial", Cost.DEEP, _polynomials)

RATIONAL = Shape("quotient of polynomials", Cost.DEEP, _rationals)
WITH_FACTORS = Shape("product with factors", Cost.DEEP, _product_with_factors, blurred_cost=Cost.SHALLOW)

WAVES = Shape("wave", Cost.DEEP, _waves, blurred_cost=Cost.DEEP)

THROUGH_FUNCTIONS = (*CLOSED_FORMS, POLYNOMIAL, SUM_OF_PRODUCTS)
"""What a problem seen through a function is searched with first; there are dozens of such views, so all is cheap."""
THROUGH_FUNCTIONS_MORE = (QUOTIENT_WITH_CONSTANTS, RATIONAL, SMALL_TREES, WITH_FACTORS)

BELOW_FUNCTIONS = (QUOTIENT_WITH_CONSTANTS, RATIONAL, SMALL_TREES)
"""What the argument of a function around the whole formula is searched with besides."""

# Under noise it has to stand beside all its rivals, so there it is tried last.
FOUND_BEFORE = Shape("found before", Cost.CLOSED_FORM, lambda scope: iter([iter(scope.effort.before)]), Cost.DEEP)

SHAPES = (
    FOUND_BEFORE,
    *CLOSED_FORMS,
    Shape("rule of marks", Cost.ITERATION, lambda scope: rule_of_marks(scope.problem, scope.columns(EVERY))),
    _products_of_sums(2),
    SUM_OF_PRODUCTS,
    POWER_LAWS,
    QUOTIENT_WITH_CONSTANTS,
    Shape("product of 2 sums with constants", Cost.SHALLOW, _product_with_constants),
    SMALL_TREES,
    _trees(5),
    POLYNOMIAL,
    Shape("product with functions", Cost.DEEP, _product_with_functions, blurred_cost=Cost.DEEP),
    Shape("function beside powers", Cost.DEEP, _beside_powers, blurred_cost=Cost.DEEP),
    WAVES,
    Shape("curve", Cost.DEEP, _curves, blurred_cost=Cost.DEEP),
    Shape("function of a curve", Cost.DEEP, _of_curve, blurred_cost=Cost.DEEP),
    Shape("line that changes along a curve", Cost.DEEP, _changing_line),
    Shape("sum with functions", Cost.DEEP, _sum_with_functions, blurred_cost=Cost.DEEP),
    Shape("power laws with a function", Cost.DEEP, _power_laws_with_function, blurred_cost=Cost.DEEP),
    RATIONAL,
    Shape("root of a quadratic equation", Cost.DEEP, _roots_of_quadratics),
    Shape("function of a formula", Cost.DEEP, _around, blurred_cost=Cost.DEEP),
    Shape("formula with a function", Cost.DEEP, _inside, blurred_cost=Cost.DEEP),
    Shape("monomial times a form", Cost.DEEP, _monomial_times_form, blurred_cost=Cost.SHALLOW),
    WITH_FACTORS,
    Shape("sum with trees", Cost.DEEP, _sum_with_trees, blurred_cost=Cost.SHALLOW),
    _trees(6),
    _trees(7),
    Shape("longer sum of products", Cost.DEEP, _longer_sums_of_products),
    _products_of_sums(3),
    _products_of_sums(4),
    _products_of_sums(5),
)

NEVER_NARROWED = (FOUND_BEFORE, WAVES)
"""What looks at every column even where only some tell of the target: formulas that were found over all of them, and
waves, as a column may hold one that tells nothing to whoever looks for slower changes."""


def shape_named(name: str) -> Shape:
    """The shape of this name; the error lists all of them.

    >>> shape_named("sum").cost.name
    'CLOSED_FORM'
    """
    for shape in SHAPES:
        if shape.name == name:
            return shape
    raise ValueError(f"there is no shape {name!r}; the shapes are {', '.join(shape.name for shape in SHAPES)}")


def proposals(shape: Shape, scope: Scope) -> Iterator[Formula]:
    """All proposals of a shape, one after another."""
    return chain.from_iterable(shape.groups(scope))
