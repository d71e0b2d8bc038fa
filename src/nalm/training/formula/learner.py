"""`FormulaLearner`: trains the formula layers inside any model by implied targets, the rest as you like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from nalm.core.arguments import Seed, checks_arguments
from nalm.core.uniforms import seeds_of
from nalm.training.formula.attempts import Attempts, Size, confirms
from nalm.training.formula.settings import Settings
from nalm.training.formula.shape import Numbers
from nalm.training.rule.base import Base, common_runs
from nalm.training.rule.curvature import loss_curvature
from nalm.units.formula_layer import FormulaLayer

LARGEST_SEED = 2**32
BETWEEN_LAYERS, BETWEEN_OUTPUTS = 7919, 104729  # steps of the seed: primes, so that no two searches share one
SOMETIME = torch.iinfo(torch.int64).max


class FormulaLearner:
    """Finds the formula of every `nalm.FormulaLayer` in a model; everything else is trained by an optimiser of yours.

    Gradient and curvature of the loss at a layer's output say which value it should have had. Many attempts at a
    formula, each with other factors open, learn these values side by side by second-order steps; an attempt that no
    longer learns begins anew with other factors. The layer computes with the best of them. Once the grid point next to
    an attempt agrees with three fresh batches up to rounding, the layer takes it and keeps it until twenty batches in a
    row disagree. No batch is kept, and nothing is enumerated.

    Args:
        model: anything that contains formula layers, at any depth.
        base: the optimiser of everything else, or a function that builds it from the parameters; by default Adam.
        seed: of the attempts; with a cohort one number, or one for each run.
        settings: the numbers of the search.

    >>> import nalm, torch
    >>> layer = nalm.FormulaLayer(4, 1)
    >>> learner = nalm.FormulaLearner(layer, seed=1)
    >>> def evaluate(x, target):
    ...     output = layer(x)
    ...     return output, (output - target).square().mean()
    >>> generator = torch.Generator().manual_seed(0)
    >>> for _ in range(60):
    ...     x = 1 + torch.rand(128, 4, generator=generator)
    ...     loss = learner.step(evaluate, x, (x[:, [0]] + x[:, [1]]) / x[:, [2]])
    >>> print(nalm.read(layer, names="abcd"))
    (a + b)/c
    """

    @checks_arguments
    def __init__(
        self,
        model: nn.Module,
        base: Base | None = None,
        *,
        seed: Seed | Sequence[Seed] | Tensor = 0,
        settings: Settings | None = None,
    ) -> None:
        layers = [m for m in model.modules() if isinstance(m, FormulaLayer)]
        layers = [layer for layer in layers if all(p.requires_grad for p in layer.parameters())]
        if not layers:
            raise ValueError(f"{type(model).__name__} contains no FormulaLayer that may learn: nothing to find here.")
        self.settings = settings or Settings()
        self.runs = common_runs(layers)
        seeds = seeds_of(seed, self.runs)
        self.tracks = [Track(layer, seeds + BETWEEN_LAYERS * i, self.settings) for i, layer in enumerate(layers)]
        taken = {p for layer in layers for p in layer.parameters()}
        self.base = _optimiser(base, [p for p in model.parameters() if p not in taken], taken)
        self.steps = 0

    @property
    def found(self) -> Tensor:
        """Which runs hold a verified formula in all their layers, of shape `runs`."""
        return torch.stack([track.held.reshape(*self.runs, -1).all(-1) for track in self.tracks]).all(0)

    @property
    def settled(self) -> Tensor:
        """Which runs are done: the search for shorter formulas has ended, too."""
        return torch.stack([track.settled.reshape(*self.runs, -1).all(-1) for track in self.tracks]).all(0)

    @torch.enable_grad()
    def step(self, evaluate: Callable[..., tuple[Tensor, Tensor]], *batch: Any) -> Tensor:
        """One step on one batch.

        Args:
            evaluate: computes the model's output and the loss from it, and nothing else: no backward, no new batch.
                With a cohort of runs the loss has shape `runs`.
            batch: what `evaluate` is called with.

        Returns:
            The loss before the step.
        """
        if not callable(evaluate):
            raise TypeError("step needs the function that computes output and loss: learner.step(evaluate, x, target).")
        if self.base is not None:
            self.base.zero_grad()
        with recording(self.tracks):
            output, loss = evaluate(*batch)
            if tuple(loss.shape) != self.runs:
                raise ValueError(f"The loss has shape {tuple(loss.shape)}; it needs {self.runs}, one number per run.")
            loss.sum().backward(retain_graph=True)  # type: ignore[no-untyped-call]
            probes = loss_curvature(loss, output, len(self.runs), self.steps).probes
            nodes = [y for track in self.tracks for _, y in track.uses]
            slopes = [torch.zeros_like(y) if y.grad is None else y.grad.clone() for y in nodes]
            sent = [
                torch.autograd.grad(output, nodes, p, retain_graph=True, allow_unused=True) for p in probes if nodes
            ]
            curvatures = [sum(s.square() for s in own if s is not None) for own in zip(*sent, strict=True)]
            found = zip(slopes, curvatures, strict=True)
            for track in self.tracks:
                track.learn(list(islice(found, len(track.uses))))
                track.layer.zero_grad()  # its weights are moved by the search, never along a gradient
        if self.base is not None:
            self.base.step()
        self.steps += 1
        return loss.detach()


def _optimiser(base: Base | None, rest: list[nn.Parameter], taken: set[nn.Parameter]) -> torch.optim.Optimizer | None:
    """The optimiser of everything that is not a formula."""
    if not isinstance(base, torch.optim.Optimizer):
        return (base or torch.optim.Adam)(rest) if rest else None
    if any(p in taken for group in base.param_groups for p in group["params"]):
        raise ValueError(
            "The base optimiser holds weights of formula layers, which the learner moves itself; give a function that "
            "builds it from the others: FormulaLearner(model, base=torch.optim.Adam)."
        )
    return base


class Track:
    """One layer: its search, and what it holds. A row is an output of a run."""

    def __init__(self, layer: FormulaLayer, seeds: Tensor, settings: Settings) -> None:
        self.layer = layer
        self.settings = settings
        rows = (seeds.unsqueeze(-1) + BETWEEN_OUTPUTS * torch.arange(layer.out_features)).reshape(-1) % LARGEST_SEED
        self.search = Attempts(Size(layer.terms, layer.factors, layer.in_features), rows, settings)
        self.held = torch.zeros(len(rows), dtype=torch.bool)
        self.until = torch.full((len(rows),), SOMETIME)  # the step at which the search for a shorter formula ends
        self.doubts = torch.zeros(len(rows), dtype=torch.int64)
        self.uses: list[tuple[Tensor, Tensor]] = []

    @property
    def settled(self) -> Tensor:
        """Rows whose formula is held and no longer looked for."""
        return self.held & (self.search.steps >= self.until)

    def compute(self, x: Tensor) -> Tensor:
        """The layer's output, and a record of it."""
        y = type(self.layer).compute(self.layer, x)
        if torch.is_grad_enabled():
            y.retain_grad()
            self.uses.append((x.detach().expand(*self.layer.runs, *x.shape[-2:]), y))
        return y

    @torch.no_grad()
    def learn(self, found: Sequence[tuple[Tensor, Any]]) -> None:
        """One step of the search towards the values the outputs should have had, by slope and curvature of each use."""
        if not self.uses:
            return
        x = torch.cat([used for used, _ in self.uses], -1).double()
        implied = []
        for (_, y), (slope, curvature) in zip(self.uses, found, strict=True):
            h = torch.as_tensor(curvature, dtype=torch.float64).expand(y.shape)
            implied.append(y.detach().double() - torch.where(h > 0, slope.double() / h, 0.0))
        target = torch.cat(implied, -1).flatten(0, -2)  # (rows, samples)
        x = x.unsqueeze(-3).expand(*self.layer.runs, self.layer.out_features, *x.shape[-2:]).flatten(0, -3)
        usable = target.isfinite().all(-1) & x.isfinite().all(-1).all(-1)
        self._doubt(x, target, usable)
        rows = (usable & ~self.settled).nonzero().squeeze(-1)
        if len(rows):
            self.search.step(rows, x[rows], target[rows])
            for row in rows.tolist():
                self._take(row)

    def _doubt(self, x: Tensor, target: Tensor, usable: Tensor) -> None:
        """Count batches that contradict the formulas held, and give up those that too many in a row do."""
        held = (self.held & usable).nonzero().squeeze(-1)
        if not len(held):
            return
        numbers = Numbers(*(value.flatten(0, -k)[held] for value, k in self._parts()))
        agree = confirms(numbers, x[held], target[held], self.settings.rounding)
        self.doubts[held] = torch.where(agree, 0, self.doubts[held] + 1)
        given_up = self.doubts >= self.settings.doubts
        self.held &= ~given_up
        self.doubts[given_up] = 0

    def _parts(self) -> list[tuple[Tensor, int]]:
        """Weights of the layer, and the place of the axis of outputs from the end."""
        layer = self.layer
        return [(layer.W.double(), 4), (layer.P.double(), 3), (layer.c.double(), 2), (layer.e.double(), 1)]

    def _take(self, row: int) -> None:
        """Give the layer the formula that was found, or else the attempt that leads."""
        found = self.search.found(row)
        numbers = self.search.leading(row) if found is None else found
        if found is None and bool(self.held[row]):
            return
        if found is not None and not bool(self.held[row]):
            self.until[row] = 2 * self.search.steps + self.settings.longer
        self.held[row] = found is not None
        parts = (numbers.sums, numbers.powers, numbers.open, numbers.outer)
        for name, value in zip(("W", "P", "c", "e"), parts, strict=True):
            parameter = self.layer._parameters[name]
            assert parameter is not None
            parameter.view(-1, *value.shape)[row] = value.to(parameter.dtype)


@contextmanager
def recording(tracks: Sequence[Track]) -> Iterator[None]:
    """Replace `compute` of each layer; nothing of it stays on the modules."""
    with ExitStack() as undo:
        for track in tracks:
            track.layer.__dict__["compute"] = track.compute
            undo.callback(track.uses.clear)
            undo.callback(partial(track.layer.__dict__.pop, "compute"))
        yield
