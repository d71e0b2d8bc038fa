"""Numbers made visible: tables, figures and drawings."""
