"""iNALU's reinitialisation, computed ahead in closed form, against the loop of the published code."""

import numpy as np
import pytest

from nalm.bench.engine.restart import Notes
from nalm.core.recipe import Restart


def literal(rule, errors):
    """The published loop: note, and check every tenth step."""
    noted = []
    for step, error in enumerate(errors):
        noted.append(error)
        if step > 0 and step % rule.check == 0 and len(noted) > rule.memory:
            half = len(noted) // 2
            earlier, later = np.mean(noted[:half]), np.asarray(noted[half:])
            if earlier <= later.mean() + later.std() and later.mean() > rule.error:
                return step
    return None


@pytest.mark.parametrize("seed", range(20))
def test_restarts_at_the_published_step(seed):
    rng = np.random.default_rng(seed)
    rule = Restart(check=10, memory=300, error=1.0, validate=50)
    values = np.exp(rng.normal(0.5, 1.0) - rng.uniform(0, 0.3) * np.arange(20) * rng.choice([0, 1]))
    expected = literal(rule, np.repeat(values, 50))
    notes, found = Notes(), None
    for block, error in enumerate(values):
        found = notes.restart_within(rule, block * 50, float(error), 50)
        if found is not None:
            break
        notes.add(float(error), 50)
    assert found == expected


@pytest.mark.parametrize("seed", range(40))
def test_every_single_step_counts(seed):
    rng = np.random.default_rng(seed)
    rule = Restart(check=int(rng.integers(1, 4)), memory=int(rng.integers(12, 20)), error=0.5, validate=5)
    values = rng.uniform(0.2, 1.0, 8)  # the earlier half holds several of them, so that means are never quite equal
    expected = literal(rule, np.repeat(values, 5))
    found, notes = None, Notes()
    for block, error in enumerate(values):
        found = notes.restart_within(rule, block * 5, float(error), 5)
        if found is not None:
            break
        notes.add(float(error), 5)
    assert found == expected


def test_good_runs_never_restart():
    notes, rule = Notes([0.5], [10_000]), Restart()
    assert notes.restart_within(rule, 10_000, 0.5, 1_000) is None
