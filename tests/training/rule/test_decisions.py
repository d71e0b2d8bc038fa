"""What follows from a look, from a stack's step and from where a unit sits, each condition at its bound."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

import nalm
from nalm.training.rule import Settings, evidence
from nalm.training.rule.batch import Batch, Pass
from nalm.training.rule.between import Between
from nalm.training.rule.correlation import Shares
from nalm.training.rule.curvature import LossCurvature
from nalm.training.rule.evidence import CLEAR, RIGID_FLOOR, Evidence, LookedAt
from nalm.training.rule.factors import Pattern
from nalm.training.rule.feedback import Feedback, gather
from nalm.training.rule.graph import Place, Position, _first, _leading_to, _node, _under, line_above, places
from nalm.training.rule.line import LineAbove
from nalm.training.rule.looks import Looks
from nalm.training.rule.mode import Standing
from nalm.training.rule.regression import Regression
from nalm.training.rule.report import Report, _formula, _state
from nalm.training.rule.route import Route
from nalm.training.rule.rows import RowsState
from nalm.training.rule.stack import RIGHT, ROUND, Stack, rounding_loss
from nalm.training.rule.watch import Use, Watched, Written, same_memory, watching
from tests.training.rule.made import unit_of

F64 = torch.float64
YES, NO = torch.tensor([True]), torch.tensor([False])
RUN = torch.tensor(True)
S = Settings()


def row(value: float) -> Tensor:
    return torch.tensor([value], dtype=F64)


# -- what a look says ----------------------------------------------------------------------------------------------


def looked(
    monkeypatch: pytest.MonkeyPatch,
    shares: tuple[float, float, float, float],
    held: list[float],
    *,
    below: bool = False,
    rigid: bool = False,
    squared: bool = True,
    bent: float = 1.0,
    state: dict[str, Tensor] | None = None,
) -> tuple[LookedAt, Tensor]:
    """A look at a unit whose shares are known, and the rows asked whether their reciprocal is right."""
    one = unit_of(nalm.NRU, [held])
    rows = RowsState.of(one)
    for name, value in (state or {}).items():
        setattr(rows, name, value)
    place = Place(Position.BETWEEN, below, straight=True)
    seen = Evidence(one, place, rows, Regression.of(one), LineAbove(None, rows, 0.9), S)
    asked: list[Tensor] = []
    told = Shares(*map(row, shares))
    monkeypatch.setattr(Evidence, "_shares", lambda *_: (told, told))
    monkeypatch.setattr(Evidence, "_rigid", lambda *_: torch.tensor([rigid]))
    monkeypatch.setattr(Evidence, "_bendable", lambda *_: row(bent))
    monkeypatch.setattr(Evidence, "_turned", lambda _, __, ___, which: asked.append(which) or NO)
    seen.gathered = evidence.SAMPLES
    found = seen.look(None, None, one.read(), RUN, torch.tensor(squared))  # type: ignore[arg-type]
    assert found is not None
    return found, asked[0]


@pytest.mark.parametrize(("least", "known", "clear"), [(0.79, True, False), (0.81, False, False), (0.19, True, True)])
def test_inputs_are_known_to_explain_enough_and_clear_above_learned_layers_only_by_much(
    monkeypatch: pytest.MonkeyPatch, least: float, known: bool, clear: bool
) -> None:
    shares = (1.0, least, 1.0, 1.0)
    above, _ = looked(monkeypatch, shares, [0.9, 0.1], below=True)
    assert (bool(above.known), bool(above.clear)) == (known, clear)
    plain, _ = looked(monkeypatch, shares, [0.9, 0.1])
    assert (bool(plain.known), bool(plain.clear)) == (known, known)
    assert S.informative > CLEAR


def test_an_input_is_kept_where_that_gives_up_little(monkeypatch: pytest.MonkeyPatch) -> None:
    for given_up, far_more, kept in ((0.99, 0.99, True), (1.01, 0.99, False), (0.99, 1.01, False)):
        full = given_up * S.worth_trying
        without = full / (far_more * S.decisive)  # what is left where the input is dropped
        found, _ = looked(monkeypatch, (0.0, 0.0, without, full), [0.9, 0.1], below=True)
        assert found.goal.tolist() == [[1.0, 1.0 if kept else 0.0]]
        assert float(found.left.goal) == pytest.approx(full if kept else without)
        assert float(found.given_up) == pytest.approx(full if kept else without)
    for state in ({"arrived": YES}, {"gliding": YES}, {"refused": torch.tensor([[1.0, 1.0]]).double()}):
        state = state | ({"goal": torch.tensor([[1.0, 0.0]]).double()} if "gliding" in state else {})
        found, _ = looked(monkeypatch, (0.0, 0.0, 0.1, 0.0), [0.9, 0.1], below=True, state=state)
        assert found.goal[0, 1] != 1.0
    arrived, _ = looked(monkeypatch, (0.0, 0.0, 0.1, 0.9), [0.9, 0.1], below=True, state={"arrived": YES})
    assert arrived.goal.tolist() == [pytest.approx([0.9, 0.1])]  # what it holds is the grid point in question


@pytest.mark.parametrize(("goal", "lossy"), [(0.1, False), (0.12, True)])
def test_dropping_an_input_of_learned_layers_is_lossy_if_it_still_explains_something(
    monkeypatch: pytest.MonkeyPatch, goal: float, lossy: bool
) -> None:
    shares = (0.1, 0.3, goal, 0.9)
    assert bool(looked(monkeypatch, shares, [0.9, 0.1], below=True)[0].lossy) == lossy
    assert not bool(looked(monkeypatch, shares, [0.9, 0.1])[0].lossy)
    assert not bool(looked(monkeypatch, (0.1, 0.3, goal, goal), [0.9, 0.9], below=True)[0].lossy)  # nothing is dropped


def test_below_rigid_neighbours_a_grid_point_must_be_as_good_as_what_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    edge = S.decisive * 0.1 + RIGID_FLOOR
    for goal, far in ((0.999 * edge, False), (1.001 * edge, True)):
        assert bool(looked(monkeypatch, (0.1, 0.2, goal, goal), [0.9, 0.9], rigid=True)[0].far) == far
        assert not bool(looked(monkeypatch, (0.1, 0.2, goal, goal), [0.9, 0.9])[0].far)
        assert not bool(looked(monkeypatch, (0.1, 0.2, goal, goal), [0.9, 0.9], rigid=True, squared=False)[0].far)
    near = looked(monkeypatch, (0.1, 0.2, 0.15, 0.15), [0.9, 0.9], rigid=True, bent=0.05)[0]
    assert bool(near.far)  # numbers beside it would leave a third
    given_up = 0.1 + 0.9 * 1.01 * S.worth_trying  # not approached in any case: then this is not asked
    unasked = looked(monkeypatch, (0.1, given_up, given_up, given_up), [0.9, 0.9], rigid=True, bent=0.0)[0]
    assert bool(unasked.far) == (given_up > edge)


def test_a_reciprocal_is_asked_for_where_a_grid_point_explains_as_much_as_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for given_up, asked in ((0.99 * S.explains, True), (1.01 * S.explains, False)):
        shares = (0.0, 0.0, given_up, given_up)
        assert bool(looked(monkeypatch, shares, [0.9, 0.9], rigid=True)[1]) == asked
        assert not bool(looked(monkeypatch, shares, [0.9, 0.9])[1])
    unknown = (0.9, 0.9, 0.9, 0.9)
    assert not bool(looked(monkeypatch, unknown, [0.9, 0.9], rigid=True)[1])


# -- what is decided -----------------------------------------------------------------------------------------------


def decided(
    shares: tuple[float, float, float],
    *,
    below: bool = False,
    able: bool = True,
    goal: tuple[float, float] = (1.0, 0.0),
    looks: int = 1,
    state: dict[str, Tensor] | None = None,
    settings: Settings = S,
    kind: type[nalm.Unit] = nalm.NRU,
    **said: Tensor,
) -> tuple[Between, Tensor]:
    """A unit after some looks that all say the same, and whether the last changed something."""
    one = unit_of(kind, [[0.8, 0.1]])
    mode = Between(one, Place(Position.BETWEEN, below, True), settings)
    mode.free.numbers = one.read()
    for name, value in (state or {}).items():
        setattr(mode.rows, name, value)
    held, free, left = shares
    told = Shares(row(held), row(free), row(left), row(left))
    point = torch.tensor([goal], dtype=F64)
    flags = {"lossy": NO, "known": YES, "clear": YES, "rigid": NO, "far": NO, "turned": NO, "lost": NO} | said
    look = LookedAt(one.read(), point, told, told.given_up(told.goal), *(flags[n] for n in LookedAt._fields[4:]))
    for _ in range(looks):
        changed = mode._decide(look, RUN, able)
    return mode, changed


def test_two_looks_in_a_row_send_a_row_to_the_grid() -> None:
    near = (0.1, 0.1, 0.1 + 0.9 * 0.99 * S.explains)
    once, changed = decided(near)
    assert (int(once.rows.asked), bool(once.rows.gliding), bool(changed)) == (1, False, True)  # the next comes soon
    twice, changed = decided(near, looks=2)
    assert bool(twice.rows.gliding)
    assert bool(twice.rows.owned)
    assert bool(changed)
    assert twice.rows.goal.tolist() == [[1.0, 0.0]]
    assert float(twice.rows.unexplained) == pytest.approx(0.1)
    for hindered in (
        decided((0.1, 0.1, 0.1 + 0.9 * 1.01 * S.explains), looks=2),
        decided(near, looks=2, able=False),
        decided(near, looks=2, lossy=YES),
        decided(near, looks=2, known=NO),
        decided(near, looks=2, far=YES),
        decided(near, looks=2, settings=Settings(snap=False)),
        decided(near, looks=2, state={"refused": torch.tensor([[1.0, 0.0]]).double()}),
    ):
        assert not bool(hindered[0].rows.gliding)
        assert int(hindered[0].rows.asked) == 0
    other, _ = decided(near, looks=1, state={"asked": torch.tensor([1]), "goal": torch.tensor([[0.0, 1.0]]).double()})
    assert int(other.rows.asked) == 1  # another grid point begins anew
    unclear, _ = decided(near, looks=S.patience - 1, clear=NO)
    assert not bool(unclear.rows.gliding)
    assert bool(decided(near, looks=S.patience, clear=NO)[0].rows.gliding)


def test_a_row_on_its_way_is_turned_back_by_more_than_it_takes_to_begin() -> None:
    on_its_way = {"gliding": YES, "owned": YES, "goal": torch.tensor([[1.0, 0.0]]).double(), "asked": torch.tensor([2])}
    for given_up, goes_on in ((0.99 * S.doubts, True), (1.01 * S.doubts, False)):
        mode, changed = decided((0.0, 0.0, given_up), state=on_its_way, able=False, lossy=YES)
        assert bool(mode.rows.gliding) == goes_on
        assert bool(changed) == (not goes_on)


def test_a_row_on_the_grid_is_left_after_long_doubts() -> None:
    there = {"arrived": YES, "owned": YES}
    for looks, stays in ((S.patience - 1, True), (S.patience, False)):
        mode, changed = decided((0.0, 0.0, 0.5), state=there, looks=looks)
        assert bool(mode.rows.arrived) == stays
        assert bool(changed) == (not stays)
        assert bool(decided((0.0, 0.0, 0.0), state=there, looks=looks, known=NO)[0].rows.arrived) == stays
        assert bool(decided((0.0, 0.0, 0.0), state=there, looks=looks, far=YES)[0].rows.arrived) == stays
    assert int(decided((0.0, 0.0, 0.0), state=there | {"streak": torch.tensor([7])})[0].rows.streak) == 0
    turned, changed = decided((0.0, 0.0, 0.0), state=there, turned=YES)
    assert turned.rows.held.tolist() == [[-1.0, 0.0]]
    assert not math.copysign(1, float(turned.rows.held[0, 1])) < 0  # no zero becomes -0
    assert bool(turned.rows.arrived)
    assert bool(changed)


def test_free_numbers_are_followed_where_they_leave_clearly_less() -> None:
    for free, followed in ((0.99 * S.better * 0.2, True), (1.01 * S.better * 0.2, False)):
        mode, changed = decided((0.2, free, 0.9))
        assert (bool(mode.rows.owned), bool(changed)) == (followed, followed)
        if followed:
            torch.testing.assert_close(mode.rows.goal, mode.free.numbers)
        assert not bool(decided((0.2, free, 0.9), kind=nalm.NAU)[0].rows.owned)  # a sum is learned by its base
        assert not bool(decided((0.2, free, 0.9), known=NO)[0].rows.owned)
        assert bool(decided((0.2, free, 0.9), clear=NO)[0].rows.owned) == followed
    above, changed = decided((0.2, 0.09, 0.9), below=True)
    assert bool(above.rows.owned)
    assert not bool(changed)  # what is learned below moves on anyway
    assert not bool(decided((0.2, 0.09, 0.9), below=True, clear=NO)[0].rows.owned)


def test_the_level_of_the_loss_is_remembered_from_before_the_grid() -> None:
    near = (0.1, 0.1, 0.1)
    one = unit_of(nalm.NRU, [[0.8, 0.1]])
    mode = Between(one, Place(Position.BETWEEN, False, True), S)
    mode.progress.level = torch.tensor(3.0, dtype=F64)
    told = Shares(*(row(v) for v in (*near, 0.1)))
    goal = torch.tensor([[1.0, 0.0]]).double()
    look = LookedAt(one.read(), goal, told, told.given_up(told.goal), NO, YES, YES, NO, NO, NO, NO)
    mode._decide(look, RUN, True)
    assert float(mode.rows.before) == 3.0
    mode.progress.level = torch.tensor(5.0, dtype=F64)
    mode._decide(look, RUN, True)  # now it glides
    assert float(mode.rows.before) == 3.0
    assert mode._distance() == pytest.approx(0.2, abs=1e-6)
    mode.rows.gliding = NO
    assert mode._distance() == 0.0


def test_rows_that_share_an_output_take_the_share_that_is_best_for_all() -> None:
    one = unit_of(nalm.NRU, [[0.5, 0.5], [0.5, 0.5]])
    mode = Between(one, Place(Position.BETWEEN, False, False), S)
    generator = torch.Generator().manual_seed(0)
    x = 1 + torch.rand(2, 40, generator=generator, dtype=F64)
    mode.rows.goal = torch.tensor([[0.8, 0.2], [0.9, 0.6]], dtype=F64)
    y = one.form.smooth(mode.rows.held, x)
    delta = torch.rand(2, 40, generator=generator, dtype=F64)
    feedback = Feedback(x, y, -delta, torch.full((1, 2, 40), 3.0, dtype=F64), 1)
    effect = one.form.smooth(mode.rows.held + mode.rows.towards(S), x) - y
    best = float((delta * effect).sum() / (3 * effect).sum(0).square().sum())
    assert float(mode._best_share(feedback)) == pytest.approx(min(max(best, 0.0), 1.0))
    against = Feedback(x, y, delta, feedback.probe, 1)
    assert float(mode._best_share(against)) == pytest.approx(min(max(-best, 0.0), 1.0))


def test_a_small_row_that_follows_is_brought_back_to_scale_one_by_its_own_size() -> None:
    for size, counted in ((0.01, 0.01), (1e-5, 1e-3)):  # of nothing there is no way back
        rows = RowsState.of(unit_of(nalm.NAU, [[size, -size / 2]]))
        rows.held = rows.goal = torch.tensor([[size, -size / 2]], dtype=F64)
        rows.owned = YES
        rows.move(RUN, 1.0, 0.04, (-1.0, 1.0), S)
        assert float(rows.held[0, 0]) == pytest.approx(size * counted**-S.rescale)


def test_rows_at_zero_are_kept_awake_below_no_grid_point() -> None:
    one = unit_of(nalm.NMU, [[0.0, 0.1], [0.05, 0.3], [0.0, 0.0]])
    mode = Between(one, Place(Position.BETWEEN, True, False), S)
    assert mode._may_sleep
    assert mode.stores
    mode.rows.owned = torch.tensor([False, False, True])
    with torch.no_grad():
        mode._keep_awake()
    assert one.read().flatten().tolist() == pytest.approx([S.awake, S.awake, 0.05, 0.3, 0.0, 0.0])
    assert not Between(one, Place(Position.BETWEEN, False, True), S)._may_sleep
    two = unit_of(nalm.NMU, [[0.5, 0.5], [0.5, 0.5]])
    assert Between(two, Place(Position.BETWEEN, False, True), S).hopeless  # several outputs below learned layers
    assert not Between(unit_of(nalm.NMU, [[0.5, 0.5]]), Place(Position.BETWEEN, False, True), S).hopeless
    assert not mode.hopeless


# -- a stack -------------------------------------------------------------------------------------------------------


def pass_of(loss: float, size: float) -> Pass:
    found = Pass(torch.ones(4, 1), torch.tensor(loss, dtype=F64), 1)
    found.__dict__["curvature"] = LossCurvature([torch.full((4, 1), math.sqrt(size / 4))], RUN)
    return found


def stack_of(held: list[list[float]]) -> Stack:
    one = unit_of(nalm.NAU, held)
    made = Stack(Route([], [one], []), S)
    made.pairs = []
    return made


@pytest.mark.parametrize(
    ("grid", "free", "held", "snapped", "placed"),
    [
        (0.9, 2.0, 1.0, True, True),  # less than half of the free numbers' loss, and less than what is held
        (1.1, 2.0, 1.0, False, False),
        (0.9, 2.0, 0.8, True, False),  # what is held is better
        (0.9, 2.0, 0.9 / 1.009, True, True),  # but for a guard against zero
        (0.9, 2.0, 0.9 / 1.02, True, False),
    ],
)
def test_a_stack_holds_its_grid_point_where_that_is_better_than_what_it_holds(
    grid: float, free: float, held: float, snapped: bool, placed: bool
) -> None:
    made, found = stack_of([[0.9, 0.2]]), pass_of(free, 1000.0)
    loss = torch.tensor(grid, dtype=F64)
    batch = Batch(1, 1.0, found, RUN, [], 1.0, None, lambda _: loss, None)  # type: ignore[arg-type]
    whole = [m.ruled.nearest(m.search.numbers) for m in made.members]
    made._settle(batch, found, torch.tensor(held, dtype=F64), whole)
    assert (bool(made.tries.snapped), bool(made.tries.placed)) == (snapped, placed)
    made = stack_of([[0.9, 0.2]])
    for size, right in ((1.01 * grid / RIGHT, snapped), (0.99 * grid / RIGHT, False)):
        small = pass_of(free, size)
        made._settle(batch, small, torch.tensor(held, dtype=F64), whole)
        assert bool(made.tries.snapped) == right  # beyond, it explains too little
        made.tries.snapped = torch.tensor(False)
    dead = stack_of([[0.2, 0.2]])
    dead._settle(batch, found, torch.tensor(held, dtype=F64), [torch.zeros(1, 2, dtype=F64)])
    assert not bool(dead.tries.snapped)  # a row of zeros would end all learning


def test_a_stack_begins_anew_after_steps_without_progress() -> None:
    made = stack_of([[0.9, 0.2]])
    found = pass_of(1.0, 2.0)
    batch = Batch(1, 1.0, found, RUN, [], 1.0, None, lambda _: torch.tensor(9.0), None)  # type: ignore[arg-type]
    held = torch.tensor(1.0, dtype=F64)
    made.progress.learn([torch.tensor(1.0)], RUN)
    before = made.members[0].search.numbers.clone()
    for idle, anew in ((S.attempt - 1, False), (S.attempt, True)):  # one more in this step
        made.progress.idle = torch.tensor(idle)
        made._again(batch, found, held, RUN)
        assert int(made.tries.attempt) == int(anew)
        assert torch.equal(made.members[0].search.numbers, before) == (not anew)
    assert float(made.members[0].search.numbers.abs().max()) <= 0.5
    made.tries.attempt = torch.tensor(ROUND)  # later ones wait twice as long
    made.progress.learn([torch.tensor(1.0)], RUN)
    for idle, attempt in ((2 * S.attempt - 1, ROUND), (2 * S.attempt, ROUND + 1)):
        made.progress.idle = torch.tensor(idle)
        made._again(batch, found, held, RUN)
        assert int(made.tries.attempt) == attempt
    good = torch.tensor(0.99 * S.enough * 2, dtype=F64)
    made.progress.learn([torch.tensor(1.0)], RUN)
    made.progress.idle = torch.tensor(10**6)
    made._again(batch, found, good, RUN)
    assert int(made.tries.attempt) == ROUND + 1  # good enough to stay with


def test_free_numbers_of_a_stack_are_stored_where_units_can_hold_them() -> None:
    found = pass_of(1.0, 2.0)
    for numbers, held, stored in (
        ([0.9, 0.2], 1.2, True),
        ([0.9, 0.2], 1.1, False),  # not clearly better
        ([1.0, -1.0], 1.2, True),
        ([1.1, 0.2], 1.2, False),  # outside the box
    ):
        made = stack_of([[0.5, 0.5]])
        made.members[0].search.numbers = torch.tensor([numbers], dtype=F64)
        made._store_free(found, torch.tensor(held, dtype=F64), [torch.tensor([False])])
        assert bool(made.changes) == stored
        made.tries.placed = torch.tensor(True)
        made.rest()
        made._store_free(found, torch.tensor(held, dtype=F64), [torch.tensor([False])])
        assert not bool(made.changes)
    assert float(rounding_loss(found)) == pytest.approx(0.5 * (8 * torch.finfo(torch.float32).eps) ** 2 * 2)


# -- where a unit sits ---------------------------------------------------------------------------------------------


def test_paths_of_a_graph() -> None:
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    u = a * 2
    v = u.exp()
    w = v + b.sin()
    assert _leading_to(_node(w), {_node(u)}) == {_node(w), _node(v)}
    assert _leading_to(_node(v), {_node(w)}) == set()
    assert _node(u) not in _under(_node(w), closed={_node(u)})
    assert _node(u) in _under(_node(w))
    assert _first(_node(w), {_node(u), _node(v)}) == {_node(v)}


def placed(model: nn.Module, units: list[nalm.Unit]) -> list[Place | None]:
    watched = [Watched(unit) for unit in units]
    with watching(watched):
        output = model(torch.ones(4, 2))
    own = [p for unit in units for p in unit.parameters()]
    return places(watched, output, own)


def test_places_by_what_is_learned_around() -> None:
    unit = nalm.NAU(2, 1, seed=0)
    (alone,) = placed(unit, [unit])
    assert alone == Place(Position.OUTPUT)
    layer = nn.Linear(1, 1)
    (below,) = placed(nn.Sequential(unit, layer), [unit])
    assert below is not None
    assert (below.position, below.learned_below, below.learned_above, below.straight) == (
        Position.BETWEEN,
        False,
        True,
        True,
    )
    assert below.line is not None
    assert below.line.gain is layer.weight
    (bent,) = placed(nn.Sequential(unit, layer, nn.Tanh()), [unit])
    assert bent is not None
    assert (bent.straight, bent.line) == (False, None)
    (wide,) = placed(nn.Sequential(unit, nn.Linear(1, 2)), [unit])
    assert wide is not None
    assert wide.line is None
    (above,) = placed(nn.Sequential(nn.Linear(2, 2), unit), [unit])
    assert above is not None
    assert (above.learned_below, above.learned_above, above.straight) == (True, False, False)
    lower, upper = nalm.NAU(2, 2, seed=0), nalm.NMU(2, 1, seed=0)
    both = placed(nn.Sequential(lower, upper), [lower, upper])
    assert [p and p.position for p in both] == [Position.STACK, Position.STACK]
    assert not any(p and p.mixed for p in both)


def test_only_one_linear_layer_with_one_input_and_one_output_is_a_line() -> None:
    unit, layer = nalm.NAU(2, 1, seed=0), nn.Linear(1, 1)
    for model, found in (
        (nn.Sequential(unit, layer), True),
        (nn.Sequential(unit, layer, nn.Flatten(0)), True),
        (nn.Sequential(unit, nn.Linear(1, 1, bias=False)), False),
        (nn.Sequential(unit, layer, nn.Linear(1, 1)), False),
    ):
        watched = Watched(unit)
        with watching([watched]):
            output = model(torch.ones(4, 2))
        assert (line_above(watched, output) is not None) == found


def test_uses_of_a_unit_are_joined_along_the_samples() -> None:
    unit = nalm.NAU(2, 1, seed=0)
    watched = Watched(unit)
    x = torch.rand(5, 2)
    with watching([watched]):
        output = unit(x) + 2 * unit(x + 1)
    loss = output.square().mean()
    one = Pass(output, loss, 1)
    (told,) = gather([watched], one)
    assert told is not None
    assert (told.x.shape, told.y.shape, told.uses) == ((2, 10), (1, 10), 2)
    torch.testing.assert_close(told.delta[0, :5], (2 * output[:, 0] / 5).double().detach())
    torch.testing.assert_close(told.delta[0, 5:], 2 * told.delta[0, :5])
    torch.testing.assert_close(told.curvature[0], torch.tensor([0.4] * 5 + [1.6] * 5).double())
    torch.testing.assert_close(told.weight.sum(), torch.tensor(1.0, dtype=F64))
    torch.testing.assert_close(told.implied, told.y - told.delta / told.curvature)
    blind = Feedback(told.x, told.y, told.delta, 0 * told.probe, 1)
    assert torch.equal(blind.implied, told.y)
    assert gather([Watched(unit)], one) == [None]


def test_weights_are_known_by_version_and_by_value() -> None:
    p = torch.ones(2)
    written = Written.of(p, None)
    assert Written.of(p, written) is written
    assert written.stands(p)
    p.mul_(1.0)
    assert written.stands(p)  # another version of the same numbers
    p.mul_(2.0)
    assert not written.stands(p)
    x = torch.rand(3, 4)
    assert same_memory(x.T, x)
    assert not same_memory(x[:2], x)
    assert not same_memory(x.clone(), x)
    assert Use(x, x).x is x
    assert Pattern(2, 1).rows == 3


def test_reports_say_who_holds_a_unit() -> None:
    one = unit_of(nalm.NAU, [[1.0, 0.0]])
    assert _state(Standing(one, Position.OUTPUT, 1.0, 0.0, 0.0)) == "on the grid"
    assert _state(Standing(one, Position.OUTPUT, 0.5, 0.25, 0.0, 3)) == (
        "50% on the grid, 25% moved by the rule, 25% left to base, attempt 3"
    )
    report = Report(7, 2, [Standing(one, Position.OUTPUT, 1.0, 0.0, None)], ["x (NAU)"])
    assert report.numbers()["the model/base"] == 0.0
    assert "the model/left" not in report.numbers()
    assert "7 steps, 2 batches refused" in str(report)
    assert "frozen or unused" in str(report)
    wide = unit_of(nalm.NAU, [[1.0] * 40])
    assert _formula(Standing(wide, Position.OUTPUT, 1.0, 0.0, None)).endswith("…")
    looks = Looks(4, 50)
    assert looks.due(0)
