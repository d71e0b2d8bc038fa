"""`python -m nalm` is the command line, too."""

from nalm.cli import main

main()
