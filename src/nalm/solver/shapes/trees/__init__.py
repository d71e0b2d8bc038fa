"""Tree search: small trees over the inputs and the peeled target, met in the middle."""
