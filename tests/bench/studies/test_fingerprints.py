"""No number of a study changes unnoticed."""

from __future__ import annotations

import json

from tests.bench.studies.fingerprints import KEPT, fingerprints


def test_no_number_of_a_study_has_changed() -> None:
    assert fingerprints() == json.loads(KEPT.read_text(encoding="utf-8")), "see tests/bench/studies/fingerprints.py"
