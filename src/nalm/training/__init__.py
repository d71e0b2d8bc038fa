"""Training units in your own loop: `guide` does what the papers do, `rule` is the local Gauss-Newton rule."""
