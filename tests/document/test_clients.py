"""Which client collapses, as README.md shows it."""

from pathlib import Path

from inflight.bench.core import rows
from inflight.bench.core.records import changed
from tests.present.test_retention import FADING, STEADY, failed, swept
from tools.document import clients

RUN = "20261122T000000000Z-vm-clients"


def test_without_a_run_there_is_no_section(tmp_path: Path) -> None:
    assert clients.part(tmp_path, tmp_path) == ""


def test_three_sentences_a_picture_and_folded_figures(tmp_path: Path) -> None:
    folder = tmp_path / RUN
    (folder / "plots").mkdir(parents=True)
    (folder / "plots" / "throughput.svg").write_text("<svg/>", encoding="utf-8")
    for row in [*swept({"steady": STEADY, "fading": FADING}), *failed("fading", 4096)]:
        rows.append(folder, changed(row, run=RUN))

    told = clients.part(tmp_path, tmp_path)

    assert told.startswith("## Which client collapses\n")
    assert [line for line in told.splitlines() if line.startswith("- ")][:3] == [
        "- With 4,096 in flight, of its best throughput each client keeps (95 %): steady 90 % (90 to 90 %).",
        "- Before that many are in flight: fading 10 % (10 to 10 %) with 256, and failed with 4,096.",
        "- From 16 to 256 in flight, the CPU time per page of fading grows 10x (95 %: 10x to 10x).",
    ]
    assert f"]({RUN}/plots/throughput.svg)" in told
    assert "<details><summary>Figures</summary>" in told
