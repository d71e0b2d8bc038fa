"""Published figures and tables: one file per chapter, each with a tuple `STUDIES`."""
