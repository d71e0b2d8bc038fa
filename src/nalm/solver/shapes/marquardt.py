"""Levenberg-Marquardt for a product of linear forms."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS


def minimise(features: Array, target: Array, row_weights: Array, start: Array, most: int = 200) -> tuple[Array, float]:
    """Factors `(k, d)` that bring `prod_k(features @ factor_k)` near `target`, and the relative weighted error left.

    Args:
        features: whitened inputs `(n, d)`.
        row_weights: weights of the rows `(n,)`.
    """
    factors = balanced(start)
    damping, history = SETTINGS.first_damping, list[float]()
    height = float(np.sum((row_weights * target) ** 2)) or 1.0
    forms, misfit = _misfit(features, target, row_weights, factors)
    loss = float(misfit @ misfit)
    while len(history) < most:
        history.append(loss)
        if loss <= SETTINGS.converged**2 * height or _stalled(history):
            break
        jacobian = _jacobian(features, row_weights, forms)
        curvature, slope = jacobian.T @ jacobian, jacobian.T @ misfit
        moved = False
        while damping < SETTINGS.last_damping and not moved:
            step = _damped_step(curvature, slope, damping)
            trial = factors + step.reshape(factors.shape)
            trial_misfit = _misfit(features, target, row_weights, trial)[1]
            trial_loss = float(trial_misfit @ trial_misfit)
            moved = trial_loss < loss
            damping = damping / 5 if moved else damping * 4
        if not moved:
            break
        gain = loss - trial_loss
        factors, loss = balanced(trial), trial_loss
        forms, misfit = _misfit(features, target, row_weights, factors)
        if gain < SETTINGS.descent_gain * loss and damping < SETTINGS.free_damping:
            break
    return factors, float(np.sqrt(loss / height))


def _misfit(features: Array, target: Array, row_weights: Array, factors: Array) -> tuple[Array, Array]:
    forms = features @ factors.T  # (n, k)
    return forms, row_weights * (target - np.prod(forms, axis=1))


def _jacobian(features: Array, row_weights: Array, forms: Array) -> Array:
    count = forms.shape[1]
    others = [np.prod(forms[:, [j for j in range(count) if j != k]], axis=1) for k in range(count)]
    return np.hstack([features * (row_weights * other)[:, None] for other in others])


def _damped_step(curvature: Array, slope: Array, damping: float) -> Array:
    damped = curvature.copy()
    damped.flat[:: len(damped) + 1] += damping * np.trace(curvature) / len(curvature)
    # LAPACK itself: around matrices this small the checks of scipy's functions take longer than the work.
    _, step, failed = lapack.dposv(damped, slope)
    return np.zeros_like(slope) if failed else np.asarray(step)


def _stalled(history: list[float]) -> bool:
    return (
        len(history) > SETTINGS.stall_steps
        and history[-1] > (1 - SETTINGS.stall_gain) * history[-1 - SETTINGS.stall_steps]
    )


def balanced(factors: Array) -> Array:
    """The same product with factors of equal length."""
    lengths = np.linalg.norm(factors, axis=1, keepdims=True)
    if not np.all(lengths > 0):
        return factors
    return np.asarray(factors / lengths * np.exp(np.mean(np.log(lengths))))
