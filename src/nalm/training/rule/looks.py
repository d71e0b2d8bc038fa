"""At which steps the feedback is looked at, which costs several times what a step does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Looks:
    """Often after a change, ever more rarely while nothing happens, and more rarely the more looks were spent.

    Above learned layers, what is called a step here is one at the base optimiser's full rate: at the end of a schedule
    they change less in each step, so that there is less to see.

    Attributes:
        spacing: so many steps after the last change two looks are one step apart, after twice as many two steps.
        rest: the largest distance between two looks, in steps...
        least: ... and the smallest.
        tires: the smallest distance grows by one step with so many looks, whatever changes: a unit that changes again
            and again, and so would be looked at in every step, does not get anywhere. Zero: it does not grow.
        next: the step of the next look.
        changed: the step of the last change.
        last: the step of the last look.
        made: how many there were.
        batches: of the present look, which takes several steps if batches are small.

    >>> looks, made = Looks(spacing=4, rest=50), []
    >>> for step in range(1, 200):
    ...     if looks.due(step):
    ...         looks.looked(step, changed=step == 2)
    ...         made.append(step)
    >>> made[:12], len(made)
    ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14], 25)
    >>> restless, made = Looks(spacing=4, rest=50, tires=4), []
    >>> for step in range(1, 200):
    ...     if restless.due(step):
    ...         restless.looked(step, changed=True)
    ...         made.append(step)
    >>> made[:12], len(made)
    ([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16], 41)
    """

    spacing: float
    rest: int
    least: int = 1
    tires: int = 0
    next: float = 0
    changed: float = 0
    last: float = 0
    made: int = 0
    batches: int = 0

    def due(self, step: float, in_company: bool = False) -> bool:
        """Whether to look at this step.

        Args:
            step: its number.
            in_company: whether another unit looks anyway, which pays for most of it: then half the distance is enough.
        """
        return step >= ((self.last + self.next) / 2 if in_company else self.next)

    def goes_on(self, step: float) -> None:
        """A look needs the next batch, too."""
        self.last = self.next = step
        self.batches += 1

    def looked(self, step: float, changed: bool, urgent: bool = False) -> None:
        """One more look.

        Args:
            step: its number.
            changed: whether something has changed by it.
            urgent: whether numbers that are held may be wrong, so that it must not tire.
        """
        self.last = step
        self.made += 1
        if changed or urgent:
            self.changed = step
        tired = self.made // self.tires if self.tires and not urgent else 0
        least = max(self.least, self.batches + 1)  # so that at most half of all steps are part of a look
        self.next = step + min(self.rest, max(least, tired, int((step - self.changed) / self.spacing)))
        self.batches = 0

    def soon(self) -> None:
        """Look in the next step."""
        self.next = self.last

    def saved(self) -> dict[str, float]:
        """When it looked and will look."""
        known = {"next": self.next, "changed": self.changed, "last": self.last}
        return known | {"made": self.made, "batches": self.batches}

    def load(self, saved: dict[str, float]) -> None:
        """Go on where it was saved."""
        self.next, self.changed, self.last = saved["next"], saved["changed"], saved["last"]
        self.made, self.batches = int(saved["made"]), int(saved["batches"])
