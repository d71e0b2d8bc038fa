"""What the rule does with a unit above layers that still learn: an input that is dropped is lost to them for good."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import nalm
from nalm.training.rule import LocalGaussNewton, Settings
from nalm.training.rule.between import Between
from nalm.training.rule.correlation import Shares
from nalm.training.rule.evidence import LookedAt
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.graph import Place, Position
from nalm.training.rule.looks import Looks
from nalm.training.rule.regression import View
from nalm.training.rule.rows import RowsState
from nalm.training.rule.ruled import ruled
from tests.training.rule.test_steps import batches, go_on, squared


def above_a_reader(
    unit: nalm.Unit, held: list[float], rate: float = 0.0, base: Callable[..., torch.optim.Optimizer] = torch.optim.SGD
) -> LocalGaussNewton:
    """A unit above a linear layer that passes its inputs on and could learn, but hardly does at such a rate."""
    reader, (one,) = nn.Linear(2, 2), ruled(unit)
    with torch.no_grad():
        reader.weight.copy_(torch.eye(2))
        reader.bias.zero_()
        one.form.write(unit, torch.tensor([held]))
    return LocalGaussNewton(nn.Sequential(reader, unit), base=lambda p: base(p, rate))


def test_an_input_of_learned_layers_is_kept_where_the_grid_point_that_uses_it_explains_as_much() -> None:
    unit = nalm.NAU(2, 1, seed=0)
    optimiser = above_a_reader(unit, [0.95, 0.35])  # 0.35 is nearer to 0
    go_on(optimiser, batches(lambda x: x.sum(1, keepdim=True), 2, 1.0, 2.0, 128), range(280))
    assert unit.W.tolist() == [[1, 1]]


def test_a_small_number_in_a_sum_has_no_sign_to_go_by() -> None:
    """Sums above attention weights were led to 1 or -1 by numbers near 0, and of the wrong sign as often as not."""
    unit = nalm.NAU(2, 1, seed=0)
    optimiser = above_a_reader(unit, [0.95, 0.3])
    go_on(optimiser, batches(lambda x: x.sum(1, keepdim=True), 2, 1.0, 2.0, 128), range(280))
    assert unit.W.tolist()[0] == pytest.approx([0.95, 0.3])
    product = nalm.NMU(2, 1, seed=0)  # whose numbers have one sign
    optimiser = above_a_reader(product, [0.95, 0.3])
    go_on(optimiser, batches(lambda x: x.prod(1, keepdim=True), 2, 1.0, 2.0, 128), range(280))
    assert product.W.tolist() == [[1, 1]]


def test_an_input_is_not_forced_on_a_unit_where_the_grid_point_without_it_explains_far_more() -> None:
    """Above a skip connection a product of two of four inputs once took all four, which its layers hardly undid."""
    unit = nalm.NAU(2, 1, seed=0)
    optimiser = above_a_reader(unit, [0.95, 0.4])
    # [1, 1] leaves 22 % and may be tried, [1, 0] leaves 8 % and may not, as what it drops explains something
    go_on(optimiser, batches(lambda x: x[:, :1] + 0.3 * x[:, 1:], 2, 1.0, 2.0, 128), range(280))
    assert unit.W.tolist()[0] == pytest.approx([0.95, 0.4])


@pytest.mark.parametrize(("above", "begun"), [(False, False), (True, True)])
def test_the_opposite_of_the_output_explains_it_only_below_a_layer_that_can_turn_it_round(
    above: bool, begun: bool
) -> None:
    """Two sums above one encoder of positive numbers were once led to -a - b, where nothing could mend the sign."""
    unit = nalm.NAU(2, 1, seed=0)
    inner = above_a_reader(unit, [-0.95, -0.9]).model
    model = nn.Sequential(inner, nn.Linear(1, 1)) if above else inner
    optimiser = LocalGaussNewton(model, base=lambda p: torch.optim.SGD(p, 0.0))
    go_on(optimiser, batches(lambda x: x.sum(1, keepdim=True), 2, 1.0, 2.0, 128), range(140))
    assert (unit.W.tolist() == [[-1, -1]]) == begun


@pytest.mark.parametrize(("rate", "begun"), [(0.6, True), (0.4, False)])
def test_a_unit_does_not_leave_for_the_grid_when_its_neighbours_can_hardly_follow(rate: float, begun: bool) -> None:
    """At the end of a schedule a unit once went alone: the loss of an MLP below it became eight times as large."""
    unit = nalm.NAU(2, 1, seed=0)
    optimiser = above_a_reader(unit, [0.95, 0.9], rate=1e-9)
    draw = batches(lambda x: x.sum(1, keepdim=True), 2, 1.0, 2.0, 128)
    go_on(optimiser, draw, range(1))
    optimiser.param_groups[0]["lr"] *= rate
    go_on(optimiser, draw, range(1, 140))
    assert (optimiser.report().numbers()["1/on_grid"] == 1) == begun


def test_a_unit_on_its_way_keeps_the_pace_of_its_neighbours() -> None:
    (one,) = ruled(nalm.NAU(2, 1, seed=0))
    rows, yes = RowsState.of(one), torch.tensor([True])
    rows.held, rows.goal = torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 1.0]])
    rows.owned = rows.gliding = yes
    rows.move(torch.tensor(True), 0.25, 0.04, one.box, Settings())
    assert rows.held.tolist() == [[pytest.approx(0.51), pytest.approx(0.51)]]


def test_a_slow_glide_arrives() -> None:
    """A share of what was left of the way once came ever nearer and stayed on its way for hundreds of steps."""
    (one,) = ruled(nalm.NAU(2, 1, seed=0))
    rows, yes = RowsState.of(one), torch.tensor([True])
    rows.held, rows.goal = torch.tensor([[0.98, 0.97]]), torch.tensor([[1.0, 1.0]])
    rows.owned = rows.gliding = yes
    for arrived in (False, False, True):
        rows.move(torch.tensor(True), 0.25, 0.04, one.box, Settings())
        assert rows.arrived.tolist() == [arrived]
    assert rows.held.tolist() == [[1.0, 1.0]]


def test_on_its_way_a_unit_is_passed_over_by_the_base_and_goes_on_after_a_restart() -> None:
    """Between two looks a glide takes a shorter way through the code, which has to end where the longer one does."""
    draw = batches(lambda x: x.sum(1, keepdim=True), 2, 1.0, 2.0, 128)
    model = above_a_reader(nalm.NAU(2, 1, seed=0), [0.8, 0.7], 1e-2, torch.optim.Adam)
    go_on(model, draw, range(30))
    unit, (parameter,) = model.units[0].unit, model.units[0].parameters
    made = model.state[parameter]["step"].clone()
    assert model.report().numbers()["1/moved"] == 1
    held = unit.form.read(unit).clone()
    go_on(model, draw, range(30, 31))
    assert (unit.form.read(unit) - held).tolist() == [[pytest.approx(0.004, abs=1e-6)] * 2]
    assert model.state[parameter]["step"] == made
    copied = copy.deepcopy(model)
    resumed = above_a_reader(nalm.NAU(2, 1, seed=0), [0.8, 0.7], 1e-2, torch.optim.Adam)
    resumed.model.load_state_dict(model.model.state_dict())
    resumed.load_state_dict(copy.deepcopy(model.state_dict()))
    for optimiser in (model, copied, resumed):
        go_on(optimiser, draw, range(31, 130))
        assert optimiser.report().numbers()["1/on_grid"] == 1
        for p, q in zip(model.model.parameters(), optimiser.model.parameters(), strict=True):
            assert torch.equal(p, q)


def test_runs_whose_batch_is_not_finite_wait_on_their_way() -> None:
    (one,) = ruled(nalm.NAU(2, 1, runs=(2,), seed=0))
    mode = Between(one, Place(Position.BETWEEN, True, True, straight=False, line=None), Settings(gently=0.1))
    with torch.no_grad():
        one.form.write(one.unit, torch.full((2, 1, 2), 0.5))
    rows = mode.rows
    rows.held, rows.goal = one.read(), torch.ones(2, 1, 2).double()
    rows.owned = rows.gliding = torch.ones(2, 1, dtype=torch.bool)
    mode._writes, mode._left = True, mode._distance()
    for ok in ([True, True], [True, False], [True, True]):
        with torch.no_grad():
            mode.write(torch.tensor(ok), pace=1.0, losses=[])
    assert one.unit.W.flatten().tolist() == [pytest.approx(w) for w in (0.8, 0.8, 0.7, 0.7)]
    for _ in range(4):
        with torch.no_grad():
            mode.write(torch.tensor([True, True]), pace=1.0, losses=[])
    assert one.unit.W.flatten().tolist() == [1.0] * 4
    assert rows.arrived.all()


def test_the_look_that_decides_comes_soon() -> None:
    """Above learned layers two looks speak for a grid point; the second once came as late as any other."""
    optimiser = above_a_reader(nalm.NAU(2, 1, seed=0), [0.95, 0.9])
    draw = batches(lambda x: x.sum(1, keepdim=True), 2, 1.0, 2.0, 128)
    shuffled = batches(lambda x: x.sum(1, keepdim=True)[torch.randperm(128)], 2, 1.0, 2.0, 128)
    go_on(optimiser, shuffled, range(100))  # nothing to be learned from
    (mode,) = optimiser.modes or []
    assert isinstance(mode, Between)
    late = int(mode.looks.next)
    go_on(optimiser, draw, range(100, late))
    assert mode.rows.asked.tolist() == [1]
    assert mode.looks.next == late + Settings().apart
    go_on(optimiser, draw, range(late, int(mode.looks.next)))
    assert mode.rows.gliding.all()


@pytest.mark.parametrize("size", [1.0, 0.5])
def test_a_row_that_follows_goes_back_to_scale_one(size: float) -> None:
    """Its direction is that of the free numbers; of the way to scale 1, a twentieth of the logarithm is gone."""
    (one,) = ruled(nalm.NAU(2, 1, seed=0))
    rows = RowsState.of(one)
    rows.held = rows.goal = size * torch.tensor([[1.0, -0.5]], dtype=torch.float64)
    rows.owned = torch.tensor([True])
    rows.move(torch.tensor(True), 1.0, 0.01, one.box, Settings())
    after = size**0.95
    assert rows.held.tolist() == [[pytest.approx(after), pytest.approx(-0.5 * after)]]


def test_a_sum_below_a_linear_layer_stays_solved_in_small_batches() -> None:
    """Averages over batches once went on over a jump of gain and bias, so that the grid point was left every time."""

    def draw(step: int) -> tuple[Tensor, Tensor]:
        x = 1 + torch.rand(64, 4, generator=torch.Generator().manual_seed(step))
        x[:, 2:] = torch.tensor([1.5, 0.0])  # two inputs say nothing
        return x, x[:, :1] - x[:, 1:2]

    torch.manual_seed(1)
    model = nn.Sequential(nalm.NAU(4, 1), nn.Linear(1, 1))
    optimiser = LocalGaussNewton(model, base=lambda p: torch.optim.Adam(p, 1e-2))
    go_on(optimiser, draw, range(100))
    for step in range(100, 120):
        go_on(optimiser, draw, range(step, step + 1))
        assert squared(model(draw(step)[0]), draw(step)[1]) < 1e-10, step


@pytest.mark.parametrize(("noise", "dropped"), [(0.0, False), (0.2, True)])
def test_an_input_of_learned_layers_is_dropped_only_if_nothing_is_lost_by_it(noise: float, dropped: bool) -> None:
    """It explains 0.2 % of the target: all that is left without noise, and less than a batch knows with much noise."""

    def target(x: Tensor) -> Tensor:
        return x[:, :1] + 0.05 * x[:, 1:] + noise * torch.randn(128, 1, generator=torch.Generator().manual_seed(7))

    unit = nalm.NAU(2, 1, seed=0)
    optimiser = above_a_reader(unit, [1.0, 0.05])
    go_on(optimiser, batches(target, 2, -1.0, 1.0, 128), range(120))
    assert (unit.W.tolist() == [[1, 0]]) == dropped


@pytest.mark.parametrize(
    ("free", "learned_below", "followed"), [(0.07, False, True), (0.07, True, False), (0.03, True, True)]
)
def test_above_learned_layers_only_numbers_that_leave_half_are_followed(
    free: float, learned_below: bool, followed: bool
) -> None:
    (one,) = ruled(nalm.NMU(2, 1, seed=0))
    place = Place(Position.BETWEEN, learned_below, learned_above=True, straight=False, line=None)
    mode = Between(one, place, Settings())

    def row(value: float | bool) -> Tensor:
        return torch.tensor([value])

    left = Shares(held=row(0.1), free=row(free), goal=row(0.9), full=row(0.9))
    no, yes, held = row(False), row(True), one.read()
    said = LookedAt(held, held.round(), left, left.given_up(left.goal), no, yes, yes, no, no, no, no)
    mode._decide(said, torch.tensor(True), able=True)
    assert mode.rows.owned.tolist() == [followed]
    assert not mode.rows.gliding.any()


@pytest.mark.parametrize(
    ("goal", "given_up", "learned_below", "begun"),
    [([1, 1], 0.2, True, True), ([1, 1], 0.3, True, False), ([1, 0], 0.2, True, False), ([1, 1], 0.2, False, False)],
)
def test_above_learned_layers_a_grid_point_that_uses_every_input_is_tried(
    goal: list[float], given_up: float, learned_below: bool, begun: bool
) -> None:
    """They have adapted to other numbers, and can adapt to these: readers of digits once stalled there for good."""
    (one,) = ruled(nalm.NMU(2, 1, seed=0))
    mode = Between(one, Place(Position.BETWEEN, learned_below, True, straight=False, line=None), Settings())
    left = Shares(*(torch.tensor([share]) for share in (0.5, 1.0, 0.5 + 0.5 * given_up, 0.5 + 0.5 * given_up)))
    no, yes = torch.tensor([False]), torch.tensor([True])
    said = LookedAt(one.read(), torch.tensor([goal]), left, left.given_up(left.goal), no, yes, no, no, no, no, no)
    for _ in range(2):
        assert not mode.rows.gliding.any()
        mode._decide(said, torch.tensor(True), able=True)
    assert mode.rows.gliding.tolist() == [begun]


@pytest.mark.parametrize(
    ("unit", "free", "begun"),
    [
        (nalm.NRU, [1, 0.2], True),
        (nalm.NRU, [1, -0.2], True),
        (nalm.NRU, [1, -0.8], False),
        (nalm.NAU, [1, -0.8], True),
    ],
)
def test_a_product_is_not_tried_where_free_exponents_point_the_other_way(
    unit: type[nalm.Unit], free: list[float], begun: bool
) -> None:
    """Layers below hardly learn a reciprocal: an encoder once stayed below a x b x c x d. A sum's sign they do."""
    (one,) = ruled(unit(2, 1, seed=0))
    mode = Between(one, Place(Position.BETWEEN, True, True, straight=False, line=None), Settings())
    mode.free.numbers = torch.tensor([free], dtype=torch.float64)
    left = Shares(*(torch.tensor([share]) for share in (0.6, 0.5, 0.6, 0.6)))
    no, yes = torch.tensor([False]), torch.tensor([True])
    said = LookedAt(one.read(), torch.tensor([[1.0, 1.0]]), left, left.given_up(left.goal), no, yes, no, no, no, no, no)
    for _ in range(2):
        mode._decide(said, torch.tensor(True), able=True)
    assert mode.rows.gliding.tolist() == [begun]


@pytest.mark.parametrize(("given_up", "doubted"), [(0.08, False), (0.15, True)])
def test_a_grid_point_that_gives_up_a_tenth_is_doubted(given_up: float, doubted: bool) -> None:
    (one,) = ruled(nalm.NMU(2, 1, seed=0))
    mode = Between(one, Place(Position.BETWEEN, False, True, straight=False, line=None), Settings())
    left = Shares(*(torch.tensor([share]) for share in (given_up, 0.0, given_up, given_up)))
    no, yes = torch.tensor([False]), torch.tensor([True])
    mode.rows.arrived = mode.rows.owned = yes
    said = LookedAt(
        one.read(), torch.tensor([[1.0, 1.0]]), left, left.given_up(left.goal), no, yes, yes, no, no, no, no
    )
    mode._decide(said, torch.tensor(True), able=True)
    assert mode.rows.streak.tolist() == [int(doubted)]
    assert mode.rows.arrived.all()


@pytest.mark.parametrize(
    ("free", "learned_below", "stays"), [(0.04, True, False), (0.06, True, True), (0.04, False, True)]
)
def test_a_unit_on_the_grid_is_doubted_where_free_numbers_get_ahead_of_it(
    free: float, learned_below: bool, stays: bool
) -> None:
    """With less than half of what the unit leaves, free numbers are ahead."""
    (one,) = ruled(nalm.NAU(2, 1, seed=0))
    mode = Between(one, Place(Position.BETWEEN, learned_below, True, straight=False, line=None), Settings())
    goal, no, yes = torch.tensor([[1.0, 1.0]], dtype=torch.float64), torch.tensor([False]), torch.tensor([True])
    mode.rows.arrived = mode.rows.owned = yes
    left = Shares(*(torch.tensor([share]) for share in (0.1, free, 0.1, 0.1)))
    said = LookedAt(one.read(), goal, left, left.given_up(left.goal), no, yes, yes, no, no, no, no)
    mode._decide(said, torch.tensor(True), able=True)
    assert mode.rows.streak.tolist() == [int(not stays)]


@pytest.mark.parametrize(
    ("rise", "at_rest", "left_by_goal", "stays"),
    [
        (1.01, False, 0.11, False),
        (0.99, False, 0.11, True),
        (3.9, False, 0.06, True),
        (4.1, False, 0.06, False),
        (1.9, True, 0.11, True),
        (2.1, True, 0.11, False),
    ],
)
def test_a_unit_turns_back_where_the_loss_does_not_fall_on_its_way(
    rise: float, at_rest: bool, left_by_goal: float, stays: bool
) -> None:
    """Layers below cannot always make up for a grid point that is tried: a sum above a convolution was once led away
    from a network that was solved. Where the grid point explains as much, they can, and the loss falls later."""
    (one,) = ruled(nalm.NAU(2, 1, seed=0))
    mode = Between(one, Place(Position.BETWEEN, True, True, straight=False, line=None), Settings())
    goal, no, yes = torch.tensor([[1.0, 1.0]], dtype=torch.float64), torch.tensor([False]), torch.tensor([True])
    mode.rows.gliding = mode.rows.owned = yes
    mode.rows.goal, mode.rows.asked = goal, torch.tensor([2])
    mode.trial.above, mode.trial.at_rest = torch.tensor(rise).log(), torch.tensor(at_rest)
    left = Shares(*(torch.tensor([share]) for share in (0.05, 0.05, left_by_goal, left_by_goal)))
    said = LookedAt(one.read(), goal, left, left.given_up(left.goal), no, yes, yes, no, no, no, no)
    mode._decide(said, torch.tensor(True), able=True)
    assert mode.rows.gliding.tolist() == [stays]
    assert mode.rows.has_refused(goal).tolist() == [not stays]  # it is not tried again


@pytest.mark.parametrize(
    ("left_by_goal", "idle", "begun"),
    [(0.19, 0, True), (0.21, 0, False), (0.21, 100, False), (0.21, 101, True), (0.4, 101, False)],
)
def test_a_grid_point_that_leaves_twice_as_much_is_tried_only_when_the_loss_falls_no_longer(
    left_by_goal: float, idle: int, begun: bool
) -> None:
    """Of what the best numbers explain, the first gives up a tenth and the last a third."""
    assert sets_out(left_by_all_others=0.1, left_by_goal=left_by_goal, idle=idle) == begun


@pytest.mark.parametrize(
    ("left_by_goal", "idle", "below", "begun"),
    [(0.0099, 0, True, True), (0.0101, 0, True, False), (0.0101, 101, True, True), (0.0101, 0, False, True)],
)
def test_a_network_that_does_ten_times_better_without_a_grid_point_is_left_alone_as_long_as_its_loss_falls(
    left_by_goal: float, idle: int, below: bool, begun: bool
) -> None:
    """Though this one gives up only one percent of what the best numbers explain."""
    assert sets_out(left_by_all_others=0.001, left_by_goal=left_by_goal, idle=idle, below=below) == begun


@pytest.mark.parametrize(
    ("left", "idle", "below", "begun"),
    [(0.049, 0, True, True), (0.051, 0, True, False), (0.051, 1, True, True), (0.051, 0, False, True)],
)
def test_no_input_of_learned_layers_is_dropped_while_the_loss_falls_and_it_could_explain_what_is_left(
    left: float, idle: int, below: bool, begun: bool
) -> None:
    """Of two units on one encoder, the product once dropped an input before the encoder had learned both."""
    assert sets_out(left, left, idle, below, second=0) == begun


@pytest.mark.parametrize(
    ("free", "left", "idle", "followed"),
    [
        ([0.6, -3], 0.049, 0, True),
        ([0.6, -3], 0.051, 0, False),
        ([0.6, -3], 0.051, 1, True),
        ([0.6, 3], 0.051, 0, True),
    ],
)
def test_free_numbers_that_drop_an_input_are_not_followed_while_the_loss_falls(
    free: list[float], left: float, idle: int, followed: bool
) -> None:
    (one,) = ruled(nalm.NMU(2, 1, seed=0))
    mode = Between(one, Place(Position.BETWEEN, True, True, straight=False, line=None), Settings())
    mode.free.numbers, mode.progress.idle = torch.tensor([free]).double(), torch.tensor(idle)
    shares = Shares(*(torch.tensor([share]) for share in (0.2, left, 0.9, 0.9)))
    no, yes = torch.tensor([False]), torch.tensor([True])
    goal = torch.ones(1, 2).double()
    said = LookedAt(one.read(), goal, shares, shares.given_up(shares.goal), no, yes, yes, no, no, no, no)
    mode._decide(said, torch.tensor(True), able=True)
    assert mode.rows.owned.tolist() == [followed]


def sets_out(
    left_by_all_others: float, left_by_goal: float, idle: int, below: bool = True, lost: bool = False, second: float = 1
) -> bool:
    """Whether a sum sets out for 1 and a second number, 1 or 0, after two looks that say the same."""
    (one,) = ruled(nalm.NAU(2, 1, seed=0))
    mode = Between(one, Place(Position.BETWEEN, below, True, straight=False, line=None), Settings())
    mode.progress.idle = torch.tensor(idle)
    rest, goal, no, yes = left_by_all_others, left_by_goal, torch.tensor([False]), torch.tensor([True])
    left = Shares(*(torch.tensor([share]) for share in (rest, rest, goal, goal)))
    numbers = torch.tensor([[1.0, second]], dtype=torch.float64)
    wrong = torch.tensor([lost])
    said = LookedAt(one.read(), numbers, left, left.given_up(left.goal), no, yes, yes, no, no, no, wrong)
    for _ in range(2):
        mode._decide(said, torch.tensor(True), able=True)
    return bool(mode.rows.gliding.all())


def test_the_loss_is_watched_on_the_way_and_looked_at_soon_if_it_does_not_fall() -> None:
    """Every twenty batches, by their mean, in each run; whether it has fallen is saved with the rest."""
    places = [Place(Position.BETWEEN, below, True, straight=False, line=None) for below in (True, False)]
    for losses, below, soon in (
        ([1.0, 0.5], True, False),
        ([1.0, 1.5], True, True),
        ([1.0, 0.5, 0.7], True, True),  # of the lowest so far, not of the one before
        ([1.0, 1.5, 0.5], True, False),
        ([1.0, 1.5], False, False),
    ):
        (one,) = ruled(nalm.NAU(2, 1, (2,), seed=[0, 1]))
        mode = Between(one, places[0 if below else 1], Settings())
        held, goal = torch.full((2, 1, 2), 0.0), torch.ones(2, 1, 2)
        mode.rows.held, mode.rows.goal = held.double(), goal.double()
        mode.rows.owned = mode.rows.gliding = torch.tensor([[True], [False]])
        mode._writes, mode.looks.last, mode.looks.next = True, 5, 500
        first, *later = losses
        mode.trial.begin(torch.tensor([True, False]), [torch.tensor([first, 9.0])] * 20, torch.tensor([True, True]))
        for loss in later:
            for step in range(20):
                mode.looks.next = 500
                with torch.no_grad():
                    mode.write(torch.tensor([True, True]), 1.0, [torch.tensor([loss, 9.0 + step])] * 20)
        if below:
            risen = math.log(losses[-1] / min(losses[:-1]))
            assert mode.trial.above.tolist()[0] == pytest.approx(risen)
        else:
            assert mode.trial.above.tolist()[0] == -math.inf
        assert (mode.looks.next == 5) == soon
        assert mode.trial.best.tolist()[0] == pytest.approx(math.log(min(losses) if below else first))
        again = Between(one, places[0 if below else 1], Settings())
        again.load(mode.saved())
        assert again.trial.above.tolist() == mode.trial.above.tolist()
        assert again.trial.at_rest.tolist() == mode.trial.at_rest.tolist() == [True, False]
        assert again._on_the_way == mode._on_the_way


def test_a_row_that_sets_out_is_watched_from_then_on() -> None:
    """The level it is compared with is that of the batches before, not of an earlier way."""
    optimiser = above_a_reader(nalm.NAU(2, 1, seed=0), [0.95, 0.9], rate=1e-9)
    draw = batches(lambda x: x[:, :1] + x[:, 1:2], 2, 1.0, 2.0, 128)
    go_on(optimiser, draw, range(1))
    (mode,) = optimiser.modes or []
    assert isinstance(mode, Between)
    mode.trial.best, mode._on_the_way = torch.tensor(-99.0).double(), 7
    mode.progress.idle = torch.tensor(1000)
    while not bool(mode.rows.gliding.all()) and optimiser.steps < 100:
        go_on(optimiser, draw, range(optimiser.steps, optimiser.steps + 1))
    assert mode.rows.gliding.all()
    assert float(mode.trial.best) > -50
    assert bool(mode.trial.at_rest)
    assert mode._on_the_way == 1
    made = mode.looks.made
    go_on(optimiser, draw, range(optimiser.steps, optimiser.steps + 10))
    mode.looks.soon()  # a look on the way, with which that does not begin anew
    go_on(optimiser, draw, range(optimiser.steps, optimiser.steps + 1))
    assert mode.looks.made == made + 1
    assert mode.rows.gliding.all()
    assert mode._on_the_way > 10


@pytest.mark.parametrize(
    ("below", "above", "squared", "lost"),
    [(True, False, True, True), (True, True, True, False), (False, False, True, False), (True, False, False, False)],
)
def test_a_row_that_is_worse_than_a_constant_is_lost_where_nothing_above_makes_up_for_it(
    below: bool, above: bool, squared: bool, lost: bool
) -> None:
    """A sum of positive numbers once went on to (-1, -1) for a positive target, as that correlated with it."""
    (one,) = ruled(nalm.NAU(2, 1, seed=0))
    place = Place(Position.BETWEEN, below, above, straight=False, line=None)
    mode = Between(one, place, Settings())
    x = torch.linspace(1, 2, 128, dtype=torch.float64).expand(2, -1)
    numbers = torch.tensor([[-0.4, -0.4]], dtype=torch.float64)
    y = one.form.smooth(numbers, x)
    probe = torch.ones(1, 1, 128, dtype=torch.float64)
    deviation = float(y.std(correction=0))
    for shift, worse in ((0.99, False), (1.01, True), (-9.0, False)):  # the implied target is y and a constant
        feedback = Feedback(x, y, torch.full_like(y, -shift * deviation), probe, 1)
        view = View.of(one.form, feedback, feedback.y, intercept=True)
        look = mode.evidence.look(feedback, view, numbers, torch.tensor(True), torch.tensor(squared))
        assert look is not None
        assert look.goal.tolist() == [[-1, -1]]  # farther from the target, but for the last one
        assert look.lost.tolist() == [lost and worse]


def test_a_row_that_is_lost_does_not_set_out() -> None:
    assert sets_out(left_by_all_others=0.1, left_by_goal=0.1, idle=0)
    assert not sets_out(left_by_all_others=0.1, left_by_goal=0.1, idle=0, lost=True)


def test_on_the_way_the_loss_is_watched_in_place_of_looks() -> None:
    """A look costs four steps of a small network; as long as the loss falls, it would change nothing."""
    unit = nalm.NAU(2, 1, seed=0)
    optimiser = above_a_reader(unit, [0.3, 0.3])
    draw = batches(lambda x: x.sum(1, keepdim=True), 2, 1.0, 2.0, 128)
    go_on(optimiser, draw, range(20))
    mode = between(optimiser)
    assert mode.rows.gliding.all()
    made = mode.looks.made
    go_on(optimiser, draw, range(20, 120))
    assert mode.rows.gliding.all()
    assert mode.looks.made == made
    go_on(optimiser, draw, range(120, 230))
    assert unit.W.tolist() == [[1, 1]]
    assert mode.looks.made > made  # at the latest after the longest distance


def test_units_above_learned_layers_glide_gently() -> None:
    (one,) = ruled(nalm.NMU(2, 1, seed=0))
    places = [Place(Position.BETWEEN, below, True, straight=False, line=None) for below in (True, False)]
    gentle, plain = (Between(one, place, Settings(gently=0.1, glide=0.2)) for place in places)
    for mode in (gentle, plain):
        mode.rows.held, mode.rows.goal = torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 1.0]])
        mode.rows.owned = mode.rows.gliding = torch.tensor([True])
        mode._writes = True
        with torch.no_grad():
            mode.write(torch.tensor(True), pace=1.0, losses=[])
    assert gentle.rows.held.tolist() == [[pytest.approx(0.6), pytest.approx(0.6)]]
    assert plain.rows.held.tolist() == [[pytest.approx(0.7), pytest.approx(0.7)]]


def test_two_looks_are_some_steps_apart() -> None:
    looks, made = Looks(spacing=1, rest=50, least=16), []
    for step in range(1, 200):
        if looks.due(step):
            looks.looked(step, changed=step == 33)
            made.append(step)
    assert made == [1, 17, 34, 68, 118, 168]


def test_above_learned_layers_looks_are_rarer_while_these_move_slowly() -> None:
    """At the end of a schedule there is less to see; what was travelled is saved, as a look depends on it."""
    optimiser = above_a_reader(nalm.NAU(2, 1, seed=0), [0.95, 0.9], rate=1e-9)
    draw = batches(lambda x: torch.randn(len(x), 1), 2, 1.0, 2.0, 128)  # nothing to be found
    go_on(optimiser, draw, range(1))
    optimiser.param_groups[0]["lr"] *= 0.25
    resumed = above_a_reader(nalm.NAU(2, 1, seed=0), [0.95, 0.9], rate=1.0)
    resumed.load_state_dict(optimiser.state_dict())
    for one in (optimiser, resumed):
        made = []
        for step in range(1, 130):
            go_on(one, draw, range(step, step + 1))
            made.append(between(one).looks.made)
        assert made.index(2) == 4 * Settings().apart - 1


def test_the_largest_rate_is_saved() -> None:
    """Otherwise a unit would leave for the grid at the end of a schedule, if only the training was resumed there."""
    optimiser = above_a_reader(nalm.NAU(2, 1, seed=0), [0.95, 0.9], rate=1e-9)
    draw = batches(lambda x: x.sum(1, keepdim=True), 2, 1.0, 2.0, 128)
    go_on(optimiser, draw, range(1))
    optimiser.param_groups[0]["lr"] *= 0.4
    resumed = above_a_reader(nalm.NAU(2, 1, seed=0), [0.95, 0.9], rate=1.0)
    resumed.load_state_dict(optimiser.state_dict())
    go_on(resumed, draw, range(1, 140))
    assert resumed.report().numbers()["1/on_grid"] == 0


def small_batches() -> tuple[LocalGaussNewton, Callable[[int], tuple[Tensor, Tensor]]]:
    draw = batches(lambda x: x.sum(1, keepdim=True), 2, 1.0, 2.0, 16)
    return above_a_reader(nalm.NAU(2, 1, seed=0), [0.95, 0.9]), draw


def between(optimiser: LocalGaussNewton) -> Between:
    (mode,) = optimiser.modes or []
    assert isinstance(mode, Between)
    return mode


def test_a_look_is_at_many_samples_however_small_the_batches() -> None:
    optimiser, draw = small_batches()
    go_on(optimiser, draw, range(7))
    mode = between(optimiser)
    assert (mode.evidence.gathered, mode.looks.made, mode.looks.next) == (112, 0, 7)
    go_on(optimiser, draw, range(7, 8))
    assert (mode.evidence.gathered, mode.looks.made, mode.looks.next) == (0, 1, 8 + Settings().apart)
    assert mode.rows.sums is None  # by then the network is another one


def test_all_batches_of_a_look_count_alike() -> None:
    optimiser, draw = small_batches()
    go_on(optimiser, draw, range(3))
    sums = between(optimiser).rows.sums
    assert sums is not None
    together = torch.cat([draw(step)[1] for step in range(3)])
    assert float(sums[0, 0, 0, 0]) == pytest.approx(float(together.mean()), abs=1e-5)


def test_small_batches_spend_at_most_half_of_all_steps_on_looks() -> None:
    looks = Looks(spacing=0.5, rest=200, least=16)
    for step in range(1, 32):
        looks.goes_on(step)
    looks.looked(32, changed=True)
    assert looks.next == 64


@pytest.mark.parametrize("seed", range(3))
def test_above_an_encoder_small_batches_find_the_grid_too(seed: int) -> None:
    """Averages over batches that lay far apart were once ruled by the first ones, of a network that knew nothing."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2), nalm.NMU(2, 1, seed=seed))
    optimiser = LocalGaussNewton(model, base=lambda p: torch.optim.Adam(p, 5e-3))
    go_on(optimiser, batches(lambda x: x[:, :1] * x[:, 1:2], 4, 1.0, 3.0, 16), range(500))
    assert optimiser.report().numbers()["3/on_grid"] == 1


@pytest.mark.parametrize(
    ("held", "after"),
    [([0.0, 0.0], [0.2, 0.2]), ([0.1, 0.0], [0.2, 0.2]), ([0.3, 0.0], [0.3, 0.0]), ([0.0, 0.25], [0.0, 0.25])],
)
def test_a_product_above_learned_layers_is_not_left_at_zero(held: list[float], after: list[float]) -> None:
    unit = nalm.NMU(2, 1, seed=0)
    draw = batches(lambda x: torch.randn(len(x), 1), 2, 1.0, 2.0, 128)  # nothing is known about it
    go_on(above_a_reader(unit, held), draw, range(1))
    assert unit.W.tolist()[0] == pytest.approx(after)


def test_whether_a_row_has_fallen_asleep_is_asked_in_every_fifth_step() -> None:
    """Asking costs a tenth of a small network's step."""
    (one,) = ruled(nalm.NMU(2, 1, seed=0))
    mode = Between(one, Place(Position.BETWEEN, True, True, straight=False, line=None), Settings())
    woken = []
    for _ in range(11):
        with torch.no_grad():
            one.form.write(one.unit, torch.zeros(1, 2))
            mode.write(torch.tensor(True), pace=1.0, losses=[])
        woken.append(bool(one.read().amax() > 0))
    assert [step for step, awake in enumerate(woken) if awake] == [0, 5, 10]


def test_a_sum_may_be_zero_for_it_can_leave_zero_on_both_sides() -> None:
    unit = nalm.NAU(2, 1, seed=0)
    go_on(above_a_reader(unit, [0.0, 0.0]), batches(lambda x: torch.randn(len(x), 1), 2, 1.0, 2.0, 128), range(1))
    assert unit.W.tolist() == [[0, 0]]


@pytest.mark.parametrize("seed", range(11, 15))
def test_a_table_of_numbers_below_a_product_is_learned(seed: int) -> None:
    """The base optimiser once took both of the product's numbers to zero, where nothing below it learns any more."""

    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.numbers, self.unit = nn.Embedding(10, 1), nalm.NMU(2, 1, seed=seed)

        def forward(self, x: Tensor) -> Tensor:
            product: Tensor = self.unit(self.numbers((10 * x).long()).squeeze(-1))
            return product

    def target(x: Tensor) -> Tensor:
        return ((10 * x).long() + 1.0).prod(1, keepdim=True) / 20

    torch.manual_seed(seed)
    model = Table()
    optimiser = LocalGaussNewton(model, base=lambda p: torch.optim.Adam(p, 1e-2))
    draw = batches(target, 2, 0.0, 1.0, 128)
    go_on(optimiser, draw, range(600))
    assert model.unit.W.tolist() == [[1, 1]]
    with torch.no_grad():
        x, wanted = draw(1000)
        assert float((model(x) - wanted).abs().max()) < 0.05


def test_each_row_is_judged_by_its_own_target() -> None:
    """Of two sums one has a target of noise; what it computes would explain the other's target."""
    unit = nalm.NAU(2, 2, seed=0)
    reader, (one,) = nn.Linear(2, 2), ruled(unit)
    with torch.no_grad():
        reader.weight.copy_(torch.eye(2))
        reader.bias.zero_()
        one.form.write(unit, torch.tensor([[0.95, 0.9], [0.9, 0.95]]))
    optimiser = LocalGaussNewton(nn.Sequential(reader, unit), base=lambda p: torch.optim.SGD(p, 0.0))

    def target(x: Tensor) -> Tensor:
        noise = torch.randn(len(x), 1, generator=torch.Generator().manual_seed(int(1e6 * float(x[0, 0]))))
        return torch.cat([x.sum(1, keepdim=True), noise], -1)

    go_on(optimiser, batches(target, 2, 1.0, 2.0, 128), range(80))
    rows = between(optimiser).rows
    assert rows.arrived.tolist() == [True, False]
    assert rows.unexplained[0] < 0.01
    assert rows.unexplained[1] > 0.9
