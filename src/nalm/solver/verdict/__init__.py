"""The promise of the solver: what must hold before a formula is called the law."""
