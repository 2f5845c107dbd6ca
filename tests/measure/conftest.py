"""Trials that do not wait long for other programs to be at rest."""

import pytest

from bench.measure import held


@pytest.fixture(autouse=True)
def _in_no_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take readings of memory soon: what others do meanwhile is part of a row, and no test's business."""
    monkeypatch.setattr(held, "REST_S", 0.2)
