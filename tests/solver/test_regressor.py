"""The scikit-learn regressor."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

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


def test_sample_weights_are_refused():
    with pytest.raises(TypeError, match="sample_weight"):
        ArithmeticRegressor().fit(X, Y, sample_weight=np.ones(len(Y)))


def test_pipelines_searches_and_clones():
    model = ArithmeticRegressor(noise=0.0)
    pipeline = make_pipeline(FunctionTransformer(), model)
    assert cross_val_score(pipeline, X, Y, cv=3).min() == pytest.approx(1.0)
    search = GridSearchCV(model, {"effort": ["quick", "normal"]}, cv=2).fit(X, Y)
    assert search.best_estimator_.exact_
    assert clone(model).get_params() == model.get_params()


def test_print_shows_the_table_with_the_chosen_one_marked():
    model = ArithmeticRegressor().fit(X, Y)
    assert "> " in str(model)
    assert "x0*x1/x2" in str(model)
    assert "text/latex" in model._repr_mimebundle_()
