"""Training speed against the plain PyTorch loop, in one run: the same as `nalm speed`.

python benchmarks/speed.py            # all cases
python benchmarks/speed.py --unit NMU
"""

from nalm.cli.speed import speed

if __name__ == "__main__":
    import typer

    typer.run(speed)
