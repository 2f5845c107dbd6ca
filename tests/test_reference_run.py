"""What is committed as the reference run, and what README.md says of it, agree with each other."""

import json
from pathlib import Path

import jsonschema
import pytest

from bench import rows
from bench.present import readme

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "results" / "reference"


def test_the_readme_quotes_the_reference_run() -> None:
    arguments = ["--check", "--readme", str(ROOT / "README.md"), str(readme.newest(REFERENCE))]

    assert readme.main(arguments) == 0, "run `make readme`"


def test_its_rows_follow_the_schema() -> None:
    schema = json.loads(rows.SCHEMA_FILE.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)

    for line in (readme.newest(REFERENCE) / rows.ROWS_FILE).read_text(encoding="utf-8").splitlines():
        validator.validate(json.loads(line))


@pytest.mark.parametrize("path", sorted(REFERENCE.rglob("*.json*")), ids=lambda path: path.name)
def test_no_path_of_the_machine_it_ran_on_is_in_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert not [word for word in ("/home/", "/root/", "/Users/", "/tmp/") if word in text]  # noqa: S108
