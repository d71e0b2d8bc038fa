"""iNALU's reinitialisation, computed ahead in closed form, against the loop of the published code."""

import numpy as np
import pytest

from nalm.bench.engine.restart import Notes
from nalm.core.recipe import Restart


def literal(rule, errors):
    """The published loop, which notes and then checks at the end of a step: all steps at which it restarts."""
    noted, found = [], []
    for step, error in enumerate(errors):
        noted.append(error)
        if step > 0 and step % rule.check == 0 and len(noted) > rule.memory:
            half = len(noted) // 2
            earlier, later = np.mean(noted[:half]), np.asarray(noted[half:])
            if earlier <= later.mean() + later.std() and later.mean() > rule.error:
                found.append(step)
                noted = []
    return found


def ahead(rule, values):
    """The same by blocks of equal errors."""
    notes, length = Notes(), rule.validate
    taken = [notes.take(rule, block * length, float(error), length) for block, error in enumerate(values)]
    return [step for step in taken if step is not None]


@pytest.mark.parametrize("seed", range(20))
def test_restarts_at_the_published_steps(seed):
    rng = np.random.default_rng(seed)
    rule = Restart(check=10, memory=300, error=1.0, validate=50)
    values = np.exp(rng.normal(0.5, 1.0) - rng.uniform(0, 0.3) * np.arange(30) * rng.choice([0, 1]))
    assert ahead(rule, values) == literal(rule, np.repeat(values, 50))


@pytest.mark.parametrize("seed", range(40))
def test_every_single_step_counts(seed):
    rng = np.random.default_rng(seed)
    rule = Restart(check=int(rng.integers(1, 4)), memory=int(rng.integers(12, 20)), error=0.5, validate=5)
    values = rng.uniform(0.2, 1.0, 16)  # the earlier half holds several of them, so that means are never quite equal
    assert ahead(rule, values) == literal(rule, np.repeat(values, 5))


def test_a_restart_empties_the_notes():
    rule = Restart(check=10, memory=100, error=0.5, validate=50)
    found = ahead(rule, np.full(10, 1.0))
    assert found == [100, 210, 320, 430]  # more than 100 notes: the first at step 0, later ones at the step after


def test_good_runs_never_restart():
    assert ahead(Restart(), np.full(20, 0.5)) == []
