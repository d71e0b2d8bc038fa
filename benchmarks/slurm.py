"""A real SLURM of one node, started by hand for a minute, runs the study of docs/cluster.md as the page says.

`python benchmarks/slurm.py` (as root, on Debian after `apt install slurmctld slurmd slurm-client munge`). Everything
lives in a temporary folder and ends with this script. Where SLURM is not installed it says so and ends with code 0.

The batch script is taken from the page itself; only the study is made small (`--quick --seeds 2`), the program's place
is that of this environment, and one of the jobs is killed and queued again on the way.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "cluster.md"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
CPUS = 4  # the node says so, whatever the machine has: array jobs then run side by side
PATIENCE = 900  # seconds for everything; a busy machine needs minutes

CONFIGURATION = """
ClusterName=nalm
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={controller}
SlurmdPort={node}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
"""


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if lacking := [name for name in PROGRAMS if shutil.which(name) is None]:
        print(f"skipped: no {', '.join(lacking)} here (apt install slurmctld slurmd slurm-client munge)")
        return
    if os.geteuid() != 0:
        print("skipped: slurmd runs as root")
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environment = stack.enter_context(cluster(folder))
        study(folder, environment)


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """A controller and a node; yields the environment in which SLURM's commands find them."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    host, ports = socket.gethostname().partition(".")[0], _free_ports(2)
    settings = folder / "slurm.conf"
    settings.write_text(CONFIGURATION.format(folder=folder, host=host, controller=ports[0], node=ports[1], cpus=CPUS))
    environment = {**os.environ, "SLURM_CONF": str(settings)}
    files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    authority = [
        "munged",
        "--force",
        "--foreground",
        *(f"--{option}={folder}/munge.{end}" for option, end in files.items()),
    ]
    with ExitStack() as stack:
        for command in (authority, ["slurmctld", "-D"], ["slurmd", "-D"]):
            output = stack.enter_context((folder / f"{command[0]}.out").open("wb"))
            started = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
            stack.callback(_end, started)
            time.sleep(1)
        yield environment


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def study(folder: Path, environment: dict[str, str]) -> None:
    """Sections 2 and 3 of the page."""
    home, programs = folder / "home", Path(sys.executable).parent
    (home / "stores").mkdir(parents=True)
    environment = {**environment, "HOME": str(home)}

    def say(*command: str) -> str:
        told = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, timeout=PATIENCE)
        if told.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {told.returncode}: {told.stdout}{told.stderr}")
        return told.stdout

    def nalm(*words: str) -> str:
        return say(str(programs / "nalm"), *words)

    print(say("sinfo", "--version").strip())
    script = batch_script(programs)
    (home / "study.sbatch").write_text(script)
    job = say("sbatch", "--parsable", "study.sbatch").strip()
    began = time.monotonic()
    killed = False
    while states := say("squeue", "--noheader", "--array", "--jobs", job, "--format", "%i %T").split("\n")[:-1]:
        if time.monotonic() - began > PATIENCE:
            raise SystemExit(f"the jobs did not end within {PATIENCE} s: {states}\n{_tail(folder)}")
        running = [line.split()[0] for line in states if line.endswith("RUNNING")]
        if running and not killed:  # a job that is pre-empted: killed, queued again, and it goes on
            time.sleep(5)
            say("scontrol", "requeue", running[0])
            killed = True
            print(f"requeued {running[0]} while it was running")
        time.sleep(1)
    stores = sorted(str(path) for path in (home / "stores").glob("mul-*.db"))
    print(f"{len(stores)} jobs ended in {time.monotonic() - began:.0f} s")
    whole = str(home / "stores" / "all.db")
    print(nalm("merge", whole, *stores).strip())
    print(nalm("doctor", whole).strip())
    print(nalm("show", "single-module/mul", *SMALL, "--store", whole))
    print(nalm("export", str(home / "mul.csv.gz"), "--compact", "--store", whole).strip())
    again = nalm("run", "single-module/mul", *SMALL, "--unit", ",".join(UNITS), "--store", whole)
    wanted = len(UNITS) * 9 * 2  # nine ranges, two seeds
    assert f"{wanted} runs, {wanted} already kept" in again, again
    print(f"all {wanted} runs of {len(UNITS)} jobs are kept")


SMALL = ("--quick", "--seeds", "2")
UNITS = ("NALU", "iNALU", "NMU", "sNMU")


def batch_script(programs: Path) -> str:
    """The page's own script with a small study and the program of this environment."""
    found = re.search(r"```bash\n(#!/bin/bash\n#SBATCH --job-name.*?)```", PAGE.read_text(), re.S)
    assert found is not None, f"{PAGE} has no batch script"
    script = found[1].replace(
        "~/nalm-env/bin/nalm run single-module/mul", f"{programs}/nalm run single-module/mul {' '.join(SMALL)}"
    )
    script = re.sub(r"--cpus-per-task=\d+ *", "--cpus-per-task=1", script)
    assert " ".join(UNITS) in script
    return script.replace("--time=04:00:00", "--time=00:30:00")


def _tail(folder: Path) -> str:
    return "\n".join(f"{path.name}: {path.read_text()[-600:]}" for path in folder.glob("slurm*.log"))


if __name__ == "__main__":
    main()
