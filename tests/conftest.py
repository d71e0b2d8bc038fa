"""Every test starts from the same torch seed and leaves the cores to the other tests."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
