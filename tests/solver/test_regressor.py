"""The scikit-learn regressor."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nalm.solver import solve
from nalm.solver.regressor import ArithmeticRegressor, NotExactWarning

X = np.random.default_rng(0).uniform(1, 2, (120, 3))
Y = X[:, 0] * X[:, 1] / X[:, 2]


@pytest.mark.filterwarnings("ignore::nalm.solver.regressor.NotExactWarning")
@parametrize_with_checks([ArithmeticRegressor(effort="quick")])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_it_extrapolates_with_the_exact_formula():
    model = ArithmeticRegressor().fit(X, Y)
    assert model.exact_
    assert str(model.expression_) == "x0*x1/x2"
    assert model.latex() == r"\frac{x_{0} x_{1}}{x_{2}}"
    np.testing.assert_allclose(model.predict(10 * X), 10 * Y, rtol=1e-12)
    assert model.score(10 * X, 10 * Y) == 1.0


def test_names_of_a_frame_become_symbols():
    model = ArithmeticRegressor().fit(pd.DataFrame(X, columns=["m", "a", "t"]), Y)
    assert str(model.sympy()) == "a*m/t"


def test_several_targets():
    model = ArithmeticRegressor().fit(X, np.column_stack([Y, X[:, 0] + X[:, 1]]))
    assert [str(expression) for expression in model.expression_] == ["x0*x1/x2", "x0 + x1"]
    assert model.predict(X[:5]).shape == (5, 2)


def test_without_a_formula_it_warns_once_and_predicts():
    y = np.sin(4 * X[:, 0])
    model = ArithmeticRegressor(effort="quick")
    with pytest.warns(NotExactWarning, match="no exact formula") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert not model.exact_
    assert model.score(X, y) > 0.5


def test_strict_raises_instead():
    with pytest.raises(ValueError, match="no exact formula"):
        ArithmeticRegressor(effort="quick", strict=True).fit(X, np.sin(4 * X[:, 0]))


def test_rows_of_no_weight_are_left_out_and_others_only_weigh_in_approximations():
    spoiled = np.where(np.arange(120) % 10 == 0, 7.0, Y)
    model = ArithmeticRegressor(effort="quick").fit(X, spoiled, sample_weight=np.arange(120) % 10 != 0)
    assert str(model.expression_) == "x0*x1/x2"
    assert model.exact_
    with pytest.raises(ValueError, match="at least 0"):
        ArithmeticRegressor().fit(X, Y, sample_weight=-np.ones(120))


@pytest.mark.filterwarnings("ignore::nalm.solver.regressor.NotExactWarning")
def test_equations_can_be_listed_and_used_one_by_one():
    table = np.random.default_rng(1).uniform(-3, 3, (200, 2))
    y = np.sin(table[:, 0]) + table[:, 1] ** 2 / 4 + 0.1 * np.random.default_rng(2).normal(size=200)
    model = ArithmeticRegressor(effort="quick").fit(table, y)
    listed = model.equations_
    assert {"complexity", "error", "score", "formula", "status"} <= set(listed.columns)
    assert listed["complexity"].is_monotonic_increasing
    assert listed["error"].is_monotonic_decreasing
    assert listed["chosen"].sum() == 1
    assert set(listed["status"]) == {"approximation"}
    chosen = int(listed.index[listed["chosen"]][0])
    np.testing.assert_array_equal(model.predict(table, chosen), model.predict(table))
    assert model.sympy(chosen) == model.sympy()
    assert np.ptp(model.predict(table, 0)) == 0  # the mean
    assert model.latex(0) != model.latex(chosen)
    assert model.latex_table().count("approximation") == len(listed)
    with pytest.raises(IndexError, match="equations"):
        model.predict(table, len(listed))


@pytest.mark.filterwarnings("ignore::nalm.solver.regressor.NotExactWarning")
def test_behind_a_scaler_it_still_predicts():
    pipeline = make_pipeline(StandardScaler(), ArithmeticRegressor(effort="quick"))
    assert pipeline.fit(X, Y).score(X, Y) > 0.999


def test_pipelines_searches_and_clones():
    model = ArithmeticRegressor(noise=0.0)
    pipeline = make_pipeline(FunctionTransformer(), model)
    assert cross_val_score(pipeline, X, Y, cv=3).min() == pytest.approx(1.0)
    search = GridSearchCV(model, {"effort": ["quick", "normal"]}, cv=2).fit(X, Y)
    assert search.best_estimator_.exact_
    assert clone(model).get_params() == model.get_params()


def test_a_warm_start_begins_with_what_was_found():
    model = ArithmeticRegressor(warm_start=True).fit(X, Y)
    table = 3 * X + 1
    model.fit(table, table[:, 0] * table[:, 1] / table[:, 2])
    assert model.exact_
    assert str(model.expression_) == "x0*x1/x2"
    assert model.solution_.chosen.shape == "found before"
    other = model.fit(table, table[:, 0] + table[:, 1])
    assert str(other.expression_) == "x0 + x1"
    assert other.solution_.chosen.shape == "sum"
    with pytest.raises(ValueError, match="as many targets as before, 1; got 2"):
        model.fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="2 features"):
        model.fit(X[:, :2], Y)


def test_a_warm_start_passes_over_columns_that_say_nothing_now():
    flat = X.copy()
    flat[:, 1] = 2.0
    before = solve(X, X[:, 0] / X[:, 2])
    assert solve(flat, X[:, 0] / X[:, 2], before=before).chosen == replace(before.chosen, shape="found before")
    assert str(solve(flat, flat[:, 0] * 2 / flat[:, 2], before=solve(X, Y)).expression) == "2*x0/x2"
    with pytest.raises(ValueError, match="before has the columns x0, x1, x2; the table has a, b, c"):
        solve(X, Y, names=list("abc"), before=before)


def test_without_it_a_fit_begins_anew():
    model = ArithmeticRegressor().fit(X, Y).fit(X[:, :2], X[:, 0] * X[:, 1])
    assert model.n_features_in_ == 2
    assert model.solution_.chosen.shape != "found before"


def test_print_shows_the_table_with_the_chosen_one_marked():
    model = ArithmeticRegressor().fit(X, Y)
    assert "> " in str(model)
    assert "x0*x1/x2" in str(model)
    assert "text/latex" in model._repr_mimebundle_()


def test_numbers_of_formulas_that_were_not_chosen_are_shown_to_four_digits():
    rows = np.random.default_rng(0).uniform(1, 2, (64, 3))
    solution = solve(rows, 2.7 * rows[:, 0] ** 2 + np.sin(rows[:, 1]))
    (fitted,) = [line[1] for line in solution.candidate_lines() if "." in line[1]]
    assert fitted == "3.622*x0**(5/3)"
    assert max(len(entry["formula"]) for entry in solution.candidates) > 25  # as data it has all of them
