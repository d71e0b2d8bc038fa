"""Each shape of the ladder on its own: the best formula of that one shape, judged like any other."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from nalm.solver.ladder import Propose, Rung, climb
from nalm.solver.problem import checked
from nalm.solver.shapes import composite, factored, forms, monomials, products, sums
from nalm.solver.solve import one_thread
from nalm.solver.trees import search
from nalm.solver.verdict.judge import Candidate


def _best(X: Any, y: Any, noise: float | None, seed: int, name: str, propose: Propose) -> Candidate | None:
    problem = checked(X, y, noise=noise, seed=seed)
    with one_thread(), np.errstate(all="ignore"):
        tried = climb(problem, [Rung(name, propose)])
    return min(tried, key=lambda c: (not c.found, len(c.constants), c.relative_error), default=None)


def _every_column(X: Any) -> Any:
    return np.arange(np.asarray(X).shape[1])


def sum_of_inputs(X: Any, y: Any, noise: float | None = None, seed: int = 0) -> Candidate | None:
    """S: `sum(w_i * x_i)`, whole weights first; with fewer rows than columns a sparse one.

    >>> X = np.random.default_rng(0).uniform(1, 2, (50, 4))
    >>> sum_of_inputs(X, X[:, 0] - 2 * X[:, 3]).status
    <Status.EXACT: 'exact'>
    """
    return _best(X, y, noise, seed, "sum", sums.sum_of_inputs)


def product_of_powers(X: Any, y: Any, noise: float | None = None, seed: int = 0) -> Candidate | None:
    """P: `c * prod(x_i ** e_i)`."""
    return _best(X, y, noise, seed, "product", products.product_of_powers)


def sum_of_powers(X: Any, y: Any, noise: float | None = None, seed: int = 0) -> Candidate | None:
    """S^p: `y ** q = sum(w_i * x_i ** p) + c`."""
    return _best(X, y, noise, seed, "sum of powers", sums.sum_of_powers)


def product_of_sums(
    X: Any, y: Any, k: int = 2, noise: float | None = None, seed: int = 0, starts: int = 8
) -> Candidate | None:
    """P.S: `prod_k(sum_i(w_ki * x_i))`, the two-layer stack NAU, NMU.

    >>> X = np.random.default_rng(0).uniform(1, 2, (200, 8))
    >>> product_of_sums(X, X[:, :3].sum(1) * X[:, 2:6].sum(1), k=2).status
    <Status.EXACT: 'exact'>
    """
    propose = partial(factored.product_of_sums, k=k, starts=starts)
    return _best(X, y, noise, seed, f"product of {k} sums", propose)


def quotient_of_sums(X: Any, y: Any, noise: float | None = None, seed: int = 0) -> Candidate | None:
    """P.S with a division: `sum(a_i * x_i) / sum(b_i * x_i)`, in closed form."""
    return _best(X, y, noise, seed, "quotient of sums", factored.quotient_of_sums)


def sum_of_products(X: Any, y: Any, terms: int = 4, noise: float | None = None, seed: int = 0) -> Candidate | None:
    """S.P: a sum of up to `terms` monomials."""
    propose = partial(monomials.sum_of_products, columns=_every_column(X), terms=terms)
    return _best(X, y, noise, seed, "sum of products", propose)


def monomial_times_form(X: Any, y: Any, noise: float | None = None, seed: int = 0) -> Candidate | None:
    """A few inputs in front of a sum of powers or a quadratic form of the others."""
    propose = partial(forms.monomial_times_form, columns=_every_column(X))
    return _best(X, y, noise, seed, "monomial times a form", propose)


def product_with_factors(X: Any, y: Any, noise: float | None = None, seed: int = 0) -> Candidate | None:
    """`c * prod(x_i ** e_i) * u ** f * v ** g` with two small trees u and v."""
    propose = partial(composite.product_with_factors, columns=_every_column(X))
    return _best(X, y, noise, seed, "product with factors", propose)


def sum_with_trees(X: Any, y: Any, noise: float | None = None, seed: int = 0) -> Candidate | None:
    """`sum(w_i * x_i) + c + a * u + b * v` with two small trees u and v."""
    propose = partial(composite.sum_with_trees, columns=_every_column(X))
    return _best(X, y, noise, seed, "sum with trees", propose)


def tree_search(X: Any, y: Any, leaves: int = 6, noise: float | None = None, seed: int = 0) -> Candidate | None:
    """T: any tree with up to `leaves` (at most 7) leaves, with one or two real constants."""
    propose = partial(search.tree, columns=_every_column(X), most_leaves=leaves, budget=2_000_000)
    return _best(X, y, noise, seed, f"tree to {leaves} leaves", propose)
