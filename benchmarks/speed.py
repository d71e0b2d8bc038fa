"""Training speed against the plain PyTorch loop, in one run: the same as `nalm speed`, and the memory it took.

python benchmarks/speed.py            # all cases
python benchmarks/speed.py --unit NMU
"""

import resource
import sys

from nalm.cli.app import command_line

if __name__ == "__main__":
    code = command_line(["speed", *sys.argv[1:]])
    unit = 1024**2 if sys.platform != "darwin" else 1024**3
    print(f"Peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit:.2f} GiB.")
    sys.exit(code)
