"""Which client keeps its speed, as docs/clients.md shows it."""

from pathlib import Path

import pytest

from tests.document.made_runs import store
from tests.present.test_retention import FADING, STEADY, failed, swept
from tools.document import clients
from tools.document.stored import DocumentError

RUN = "20261122T000000000Z-vm-clients"


def test_without_a_run_one_sentence_says_so(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no run of clients in"):
        clients.part(tmp_path, tmp_path)


def test_three_sentences_a_picture_and_the_figures(tmp_path: Path) -> None:
    folder = store(tmp_path / RUN, [*swept({"steady": STEADY, "fading": FADING}), *failed("fading", 4096)])
    (folder / "plots").mkdir()
    (folder / "plots" / "throughput.svg").write_text("<svg/>", encoding="utf-8")

    told = clients.part(tmp_path, tmp_path)

    assert [line for line in told.splitlines() if line.startswith("- ")][:3] == [
        "- Share of its best throughput that each client keeps with 4,096 in flight (95 %): steady 90 % (90 to 90 %).",
        "- Clients without a valid figure there: fading 10 % (10 to 10 %) with 256, and no valid trial with 4,096.",
        "- From 16 to 256 in flight, the CPU time per page of fading grows 10x (95 %: 10x to 10x).",
    ]
    assert f"]({RUN}/plots/throughput.svg)" in told
    assert "**Retention:" in told
