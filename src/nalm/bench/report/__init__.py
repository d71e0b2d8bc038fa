"""One self-contained page of all studies that a store holds."""
