"""The interpreters that the core strategies are tested on: those of this machine, and those in archives.

    python -m tests.measure.given_interpreters          says which of them are found

An archive is ``cpython-VERSION-gil-*.tar.xz``, or ``-nogil-`` for a free-threaded build: a folder with
``bin/python3.x`` that runs wherever it is unpacked. Archives are looked for in the folder INFLIGHT_INTERPRETERS, or
beside the checkout.
"""

import os
import tarfile
from pathlib import Path

from inflight.bench.measure.interpreters import Interpreter, ask
from inflight.bench.plan.judge import ExperimentError

VERSIONS = ("3.12", "3.13", "3.14", "3.14t")
VARIABLE = "INFLIGHT_INTERPRETERS"
BESIDE = Path(__file__).parents[3] / "shared" / "interpreters"


def given(version: str, folder: Path) -> Interpreter:
    """Return an interpreter of this machine, or else of an archive, which is unpacked into a folder.

    Raises ExperimentError if there is none.
    """
    try:
        return ask(version)
    except ExperimentError as missing:
        archive = archive_of(version)
        if archive is None:
            raise ExperimentError(f"{missing}, and no archive in {place()}") from missing
    with tarfile.open(archive) as files:
        files.extractall(folder)  # noqa: S202  (an archive that was given to be run)
    return ask(str(next(folder.glob(f"*/bin/python{version}"))))


def archive_of(version: str) -> Path | None:
    """Return the newest archive of a version."""
    kind = "nogil" if version.endswith("t") else "gil"
    return max(place().glob(f"cpython-{version.rstrip('t')}*-{kind}*.tar.xz"), default=None)


def place() -> Path:
    """Return the folder of the archives."""
    return Path(os.environ.get(VARIABLE) or BESIDE)


def main() -> None:
    """Print which interpreters are found, and which are not."""
    for version in VERSIONS:
        try:
            told = f"found, {ask(version).executable}"
        except ExperimentError:
            archive = archive_of(version)
            told = (
                f"not found on the PATH, with pyenv or uv, or in {place()}" if archive is None else f"found, {archive}"
            )
        print(f"Python {version}: {told}")


if __name__ == "__main__":
    main()
