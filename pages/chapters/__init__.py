"""What pages show beside the tables of studies, one module per chapter; a template calls its functions by name."""
