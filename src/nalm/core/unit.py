"""The one concept everything else serves: a unit, a small layer whose weights should settle on whole numbers.

An author declares weights and options, writes `compute` on tensors and `formula` on scalars; everything else follows
from the declarations. Inside, tensors are `(*runs, features, samples)`: the long axis is last and contiguous, and any
number of independent copies ("runs") train as one. A user's layer has `runs=()`.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast, final

import torch
from torch import Tensor

from nalm.core.arguments import Count, Seed, WrongArgument, checks_arguments, is_whole, shown
from nalm.core.expression import ON_GRID, Expression, expression_of, symbols_for
from nalm.core.form import Form
from nalm.core.layout import Runs, check_input, features_last, samples_last
from nalm.core.option import Option
from nalm.core.portrait import portrait
from nalm.core.recipe import Recipe
from nalm.core.scalar import Scalar
from nalm.core.weight import Weight
from nalm.core.weighted import Weighted


class Unit(Weighted):
    """Base class of all units and of stacks of units.

    Args:
        in_features: number of inputs.
        out_features: number of outputs.
        runs: leading axes of independent copies, () for one layer; 5 means (5,).
        seed: where the initial weights come from, one number or one per run; by default torch's global generator.
        weights: declarations that replace or join those of the class, for variants of a published unit:
            `NMU(2, 1, weights={"W": replace(NMU.W, keep="clamp")})`.
        device: where the weights live, as for `torch.nn.Linear`.
        dtype: their floating point type, as for `torch.nn.Linear`.
        options: the unit's own options, declared in its class body.

    A subclass sets `paper` (a citation), `operations` (what it can represent), `negatives` (whether signs of inputs
    are kept) and `recipe` (how the paper trains it).

    >>> from nalm import Weight
    >>> from nalm.core.start import uniform
    >>> class Doubled(Unit):  # a unit of your own: what it learns, and what it computes
    ...     W = Weight("out in", start=uniform(-1, 1), grid=(-1, 0, 1))
    ...
    ...     def compute(self, x):  # x is (*runs, in, samples)
    ...         return 2 * self.W @ x
    >>> Doubled(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper: ClassVar[str] = ""
    operations: ClassVar[str] = ""
    negatives: ClassVar[bool] = True
    recipe: ClassVar[Recipe] = Recipe()
    form: ClassVar[Form | None] = None  # what it learns, for nalm.LocalGaussNewton
    options: ClassVar[Mapping[str, Option[Any]]] = {}
    hands_on: ClassVar[tuple[str, ...]] = ()  # names of `weights` that are meant for the units inside

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "forward" in vars(cls):
            raise TypeError(f"{cls.__name__}: write compute(x) on (*runs, in, samples); forward follows from it.")
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Option)}
        cls.options = {**cls.options, **own}
        cls.__signature__ = _signature(cls)  # type: ignore[attr-defined]

    @checks_arguments
    def __init__(
        self,
        in_features: Count,
        out_features: Count,
        runs: Runs = (),
        *,
        seed: Seed | Sequence[Seed] | Tensor | None = None,
        weights: Mapping[str, Weight] | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if type(self).compute is Unit.compute:
            raise TypeError(f"{name} has no compute(x); a unit says there what it does: see `nalm.Unit`.")
        if dtype is not None and not dtype.is_floating_point:
            raise WrongArgument(f"{name}: dtype is {dtype}; it needs floating point, for example torch.float32.")
        self.in_features = int(in_features)
        self.out_features = int(out_features)
        self.runs = tuple(int(size) for size in cast(Sequence[int], [runs] if is_whole(runs) else runs))
        for option, value in self._settings(options).items():
            setattr(self, option, value)
        self.check()
        self.weights = {}
        given = dict(weights or {})
        handed_on = {name: given.pop(name) for name in self.hands_on if name in given}
        for weight, declaration in {**self.declared, **self.optional_weights(), **given}.items():
            self.create(weight, declaration)
        self.assemble(handed_on)
        if device is not None or dtype is not None:
            self._move(device, dtype)
        self.reset_parameters(seed)

    @final
    def _move(self, device: torch.device | str | int | None, dtype: torch.dtype | None) -> None:
        try:
            self.to(device=device, dtype=dtype)
        except (RuntimeError, ValueError, AssertionError, NotImplementedError) as error:
            why = str(error).splitlines()[0].rstrip(".")
            raise WrongArgument(
                f"{type(self).__name__}: device is {shown(device)}, which cannot be used here: {why}."
            ) from error

    @final
    def _settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The value of every option: given, or its default."""
        name = type(self).__name__
        for unknown in [option for option in given if option not in self.options]:
            known = ", ".join(self.options) or "none"
            raise TypeError(f"{name} has no option {unknown!r}; its options: {known}.")
        return {key: option.checked(name, given.get(key, option.default)) for key, option in self.options.items()}

    # -- written by the author -----------------------------------------------------------------------------------

    @abstractmethod
    def compute(self, x: Tensor) -> Tensor:
        """The forward pass, `(*runs, in, samples)` to `(*runs, out, samples)`."""

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        """The same in eval mode on plain numbers or symbols, one list of inputs to one list of outputs."""
        raise TypeError(f"{type(self).__name__} has no formula: it cannot be read as an expression.")

    def logic(self, x: Sequence[Any]) -> list[Any]:
        """When each output is true (above one half), as a Boolean SymPy expression of Boolean or real symbols."""
        raise TypeError(f"{type(self).__name__} decides nothing: it cannot be read as a Boolean expression.")

    def check(self) -> None:
        """Raise a ValueError if sizes and options contradict each other."""

    def optional_weights(self) -> Mapping[str, Weight]:
        """Weights that exist under some options only."""
        return {}

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        """Build the units inside, which get the given `weights` named in `hands_on`."""

    # -- final ---------------------------------------------------------------------------------------------------

    def forward(self, x: Tensor) -> Tensor:
        """PyTorch's usual layout: `(..., in)` to `(..., out)`; with runs `(*runs, ..., in)`, or `(samples, in)` shared.

        A single layer takes any number of leading axes, like `torch.nn.Linear`.
        """
        weight = next(self.parameters(), None)
        check_input(type(self).__name__, (self.in_features, self.out_features), self.runs, x, weight)
        inner, batch = samples_last(x, self.runs)
        return features_last(self.compute(inner), self.runs, batch)

    @final
    def units(self) -> Iterator[Unit]:
        """This unit and all units inside it."""
        return (m for m in self.modules() if isinstance(m, Unit))

    @final
    def extra_repr(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, option in self.options.items()
            if getattr(self, name) != option.default
        ]
        parts = [f"{self.in_features}, {self.out_features}", *([f"runs={self.runs}"] if self.runs else []), *changed]
        return ", ".join(parts)

    @final
    def _repr_html_(self) -> str:
        """In a notebook: what it computes, and how far each weight is from its grid."""
        name = type(self).__name__

        def expression() -> Expression:
            return expression_of([self], symbols_for(name, self.in_features, None), ON_GRID)

        return portrait(self, f"{name}({self.extra_repr()})", expression)


def _signature(cls: type[Unit]) -> inspect.Signature:
    """What `help` and completion show: the options by name, where a class has the common constructor."""
    signature = inspect.signature(cls.__init__)
    parameters = list(signature.parameters.values())[1:]  # without self
    if cls.__init__ is Unit.__init__:
        kind = inspect.Parameter.KEYWORD_ONLY
        options = [inspect.Parameter(name, kind, default=o.default) for name, o in cls.options.items()]
        parameters = [*parameters[:-1], *options]
    return signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
