"""The shapes of the ladder but for trees; each module proposes formulas, and none of them judges."""
