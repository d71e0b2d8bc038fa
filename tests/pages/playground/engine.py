"""What the tests of the playground share: its data, and its engine run by node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pages.playground import build

FOLDER = Path(build.__file__).parent
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed, so the page's engine cannot be run")

PRELUDE = """
const Engine = require(process.argv[1] + "/engine.js");
const { STORIES } = require(process.argv[1] + "/stories.js");
const data = JSON.parse(require("fs").readFileSync(process.argv[1] + "/data.json", "utf8"));
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const unit = (name) => Engine.unit(name, data.units[name]);
const say = (result) => console.log(JSON.stringify(result));
"""


def load_data() -> dict[str, Any]:
    """What the library told the page."""
    data: dict[str, Any] = json.loads((FOLDER / "data.json").read_text(encoding="utf-8"))
    return data


def run_engine(script: str, given: Any) -> Any:
    """Run a script on the page's engine: `given` is its input, what it hands to `say` the result."""
    assert NODE is not None
    command = [NODE, "-e", PRELUDE + script, str(FOLDER)]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
