"""Signs that multiply: linear equations modulo 2."""

import numpy as np

from nalm.core.parity import parities


def test_equations_that_contradict_each_other_are_told() -> None:
    found = parities(np.array([[True], [True]]), np.array([[True, True], [False, True]]))
    assert found.explains.tolist() == [False, True]
    assert found.taken[1].tolist() == [True]


def test_every_system_of_a_batch_is_solved_by_itself() -> None:
    rng = np.random.default_rng(0)
    known = rng.random((20, 3, 40, 12)) < 0.5
    chosen = rng.random((20, 3, 2, 12)) < 0.3
    wanted = (known.astype(int) @ np.swapaxes(chosen, -1, -2).astype(int)) % 2 == 1
    found = parities(known, wanted)
    assert found.explains.all()
    assert np.array_equal(found.taken, chosen), "40 equations leave no freedom for 12 unknowns"
    alone = parities(known[4, 1], wanted[4, 1])
    assert np.array_equal(alone.taken, found.taken[4, 1])


def test_unknowns_that_are_not_needed_are_left_out() -> None:
    twice = np.array([[True, True], [False, False], [True, True]])
    assert parities(twice, twice[:, :1]).taken.tolist() == [[True, False]]


def test_one_equation_is_enough_for_one_unknown() -> None:
    assert parities(np.array([[True]]), np.array([[True]])).taken.tolist() == [[True]]
