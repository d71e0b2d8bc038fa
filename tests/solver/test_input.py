"""Bad input gets a clear error or a right answer, never a traceback from inside numpy."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from nalm.solver import Status, solve
from nalm.solver.data.columns import standard

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (40, 3))
Y = X[:, 0] * X[:, 1]


def with_entry(value, at=(3, 1)):
    table = X.astype(object)
    table[at] = value
    return table


@pytest.mark.parametrize(
    ("table", "target", "message"),
    [
        (with_entry(np.nan), Y, "rows 3 of columns 1"),
        (with_entry(np.inf), Y, "NaN or inf"),
        (X, np.where(np.arange(40) == 7, np.nan, Y), "y has NaN or inf in rows 7"),
        (with_entry("abc"), Y, "'abc' at \\(3, 1\\)"),
        (X[:4], Y[:4], "too few"),
        (X[:, 0], Y, "table"),
        (X, Y[:10], "must match"),
        (X[:, :0], Y, "no columns"),
        (X, np.stack([Y, Y], 1), "one target at a time"),
        (X + 1j, Y, "complex"),
        (pd.DataFrame(X, columns=["a", "a", "b"]), Y, "repeat: a"),
    ],
)
def test_errors_name_the_culprit(table, target, message):
    with pytest.raises(ValueError, match=message):
        solve(table, target)


def test_options_are_checked():
    with pytest.raises(ValueError, match="effort"):
        solve(X, Y, effort="huge")
    with pytest.raises(ValueError, match="noise"):
        solve(X, Y, noise=2)
    with pytest.raises(ValueError, match="names"):
        solve(X, Y, names=["a"])


@pytest.mark.parametrize("kind", [np.float32, np.float64, "integer", "read-only", "list", "text"])
def test_any_kind_of_number_is_taken(kind):
    table, target = X.copy(), Y.copy()
    if kind == "integer":
        table = RNG.integers(1, 50, (40, 3))
        target = table[:, 0] * table[:, 1]
    elif kind == "read-only":
        table.flags.writeable = target.flags.writeable = False
    elif kind == "list":
        table, target = table.tolist(), target.tolist()
    elif kind == "text":
        table = table.astype(str)
    else:
        table, target = table.astype(kind), target.astype(kind)
    assert str(solve(table, target).expression) == "x0*x1"


def test_constant_and_repeated_columns_are_set_aside_and_said():
    table = np.column_stack([X[:, 0], np.full(40, 3.0), X[:, 0], X[:, 1]])
    solution = solve(table, Y, names=["a", "c", "a again", "b"])
    assert str(solution.expression) == "a*b"
    assert any("c is constant" in note for note in solution.evidence.notes)
    assert any("a again equals a" in note for note in solution.evidence.notes)


@pytest.mark.parametrize(("value", "status"), [(3.0, Status.EXACT), (0.0, Status.EXACT), (np.pi, Status.REAL)])
def test_a_constant_target_is_a_number(value, status):
    solution = solve(X, np.full(40, value))
    assert solution.status is status
    np.testing.assert_allclose(solution.predict(X), value)


def test_only_constant_columns_leave_the_mean():
    solution = solve(np.ones((20, 2)), np.arange(20.0))
    assert solution.status is Status.NONE
    np.testing.assert_allclose(solution.predict(np.ones((3, 2))), 9.5)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_huge_and_tiny_magnitudes(scale):
    solution = solve(X * scale, (X[:, 0] - X[:, 2]) * scale)
    assert str(solution.expression) == "x0 - x2"
    assert solution.status is Status.EXACT
    assert str(solve(X * scale, X[:, 0] / X[:, 2]).expression) == "x0/x2"


def test_odd_column_names_become_symbols():
    frame = pd.DataFrame(X, columns=["lambda", "mass (kg)", "Δt"])
    solution = solve(frame, X[:, 0] * X[:, 1] / X[:, 2])
    assert str(solution.expression) == "lambda*mass (kg)/Δt"
    assert solution.expression.numpy()(X)[:, 0] == pytest.approx(X[:, 0] * X[:, 1] / X[:, 2])
    years = pd.DataFrame(X, columns=["2019", "2020", "2021"])
    assert str(solve(years, X[:, 0] * X[:, 1]).expression) == "x2019*x2020"


@pytest.mark.parametrize(
    ("table", "weights", "said"),
    [
        (X, [1.0, 1.0, -2.0, *[1.0] * (len(X) - 3)], "weights must be finite and at least 0; that of row 2 is -2"),
        (X, [np.nan, *[1.0] * (len(X) - 1)], "that of row 0 is nan"),
        (sparse.csr_matrix(X), None, r"X is a sparse matrix; give X.toarray\(\)"),
        ([[10**400, 1]] * len(X), None, r"X must hold numbers only.*at \(0, 0\)"),
    ],
)
def test_what_is_no_table_or_no_weight_is_named(table, weights, said) -> None:
    with pytest.raises(ValueError, match=said):
        solve(table, Y, weights=weights)


def test_a_notebook_shows_the_formula_and_names_of_columns_as_text() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 9, (64, 2))
    solution = solve(x, x[:, 0] * x[:, 1], names=["<img src=x onerror=alert(1)>", "b"])
    shown = solution._repr_html_()
    assert "<img" not in shown
    assert shown.startswith("<math")
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown
    assert "<p>exact, backward error" in shown
    assert "<td>&gt;</td>" in shown  # the chosen one is marked
    assert r"\mathrm{<img\ src=x" in solution._repr_latex_()


@pytest.mark.parametrize("size", [1e160, 1e200, 1e-200])
def test_fewer_rows_than_columns_and_a_target_of_any_size(size):
    table = np.random.default_rng(0).uniform(1, 2, (6, 10))
    solution = solve(table, size * table[:, 0] * table[:, 1], effort="quick")
    far = np.random.default_rng(1).uniform(2, 3, (6, 10))
    claimed = solution.status in (Status.EXACT, Status.REAL)
    assert not claimed or np.allclose(solution.predict(far) / size, far[:, 0] * far[:, 1])


def test_columns_of_any_size_are_standardised() -> None:
    X = np.random.default_rng(0).uniform(0.1, 1, (50, 2))
    z = standard(np.column_stack([1.7e308 * X[:, 0], 1e-300 * X[:, 1], np.full(50, 3.0)]))
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=0), [1, 1, 0], atol=1e-9)
    assert solve(1.7e308 * X, X[:, 0] + np.sin(9 * X[:, 1]), effort="quick").status is not None
