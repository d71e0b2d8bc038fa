"""At which steps the feedback is looked at, which costs several times what a step does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Looks:
    """Often after a change, ever more rarely while nothing happens.

    Attributes:
        spacing: so many steps after the last change two looks are one step apart, after twice as many two steps.
        rest: the largest distance between two looks, in steps...
        least: ... and the smallest.
        next: the step of the next look.
        changed: the step of the last change.
        last: the step of the last look.

    >>> looks, made = Looks(spacing=4, rest=50), []
    >>> for step in range(1, 200):
    ...     if looks.due(step):
    ...         looks.looked(step, changed=step == 2)
    ...         made.append(step)
    >>> made[:12], len(made)
    ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14], 25)
    """

    spacing: int
    rest: int
    least: int = 1
    next: int = 0
    changed: int = 0
    last: int = 0

    def due(self, step: int) -> bool:
        """Whether to look at this step."""
        return step >= self.next

    def looked(self, step: int, changed: bool) -> None:
        """One more look, and whether something has changed by it."""
        self.last = step
        if changed:
            self.changed = step
        self.next = step + min(self.rest, max(self.least, (step - self.changed) // self.spacing))

    def saved(self) -> dict[str, int]:
        """When it looked and will look."""
        return {"next": self.next, "changed": self.changed, "last": self.last}

    def load(self, saved: dict[str, int]) -> None:
        """Go on where it was saved."""
        self.next, self.changed, self.last = int(saved["next"]), int(saved["changed"]), int(saved["last"])
