# Every target works from a fresh clone: it makes .venv with what it needs first, in the versions of requirements/.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PART   :=
JOBS   := 3
PYTEST := $(BIN)/python -m pytest
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo run extras test test-all test-night check docs bench speed series readme lessons fixtures lock clean

help:            ## say what there is
	@awk -F'## ' '/^[a-z0-9%-]+:.*## /{split($$1,t,":"); printf "make %-10s %s\n", t[1], $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.run   ## see in ten seconds a race of one page at a time against many
	$(BIN)/inflight demo

run: $(VENV)/.run    ## run the preset "quick": a page with plots of this machine after 20 seconds, complete in a minute and a half
	$(BIN)/inflight run quick

extras: $(VENV)/.extras ## install what all strategies, inflight swarm and open-loop need too

# Compiled tests are kept, whatever the environment says: collecting them takes seconds otherwise, in each process.
test test-all test-night: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.test  ## run the tests to wait for; PART= takes folders or files, JOBS= the number of processes
	$(PYTEST) -m "not ci and not night" -n $(JOBS) --dist worksteal $(PART)

test-all: $(VENV)/.test docs ## run all that CI runs: these tests, wheels, plots, the stored runs, pages in a browser
	$(PYTEST) -m "not night" -n $(JOBS) --dist worksteal $(PART)

test-night: $(VENV)/.test docs ## run the tests that measure, plant small bugs for the tests to find, and fuzz (some hours)
	$(PYTEST) -m night $(PART)
	$(BIN)/python -m tools.mutants --jobs 2 --out build/mutants.jsonl --baseline tools/mutants.json
	$(BIN)/python tests/fuzz/client.py --seconds 600
	$(BIN)/python tests/fuzz/rows.py --seconds 600
	$(BIN)/python tests/fuzz/server.py --seconds 600

check: $(VENV)/.test ## run the linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs  ## build the documentation as a site that needs no network: build/site/index.html
	$(BIN)/python -m sphinx --builder html --fresh-env --fail-on-warning --keep-going --quiet --conf-dir docs/site . build/site
	@echo "build/site/index.html"

bench: $(VENV)/.test ## benchmark every strategy with pytest-benchmark; BENCH= takes more options, such as --benchmark-compare
	$(BIN)/python -m pytest tests/suite/benchmarks.py --benchmark-only --benchmark-autosave --benchmark-columns=min,median,max,rounds $(BENCH)

speed: $(VENV)/.run  ## measure the server and the strategies against their targets (needs wrk)
	$(BIN)/python -m tools.speed

series: $(VENV)/.run ## run the models once more for the series of runs over days, and store the rows (two minutes)
	$(BIN)/python -m tools.series

readme: $(VENV)/.run ## write what README.md and docs/ quote and show of results/reference/ again
	$(BIN)/python -m tools.document

lessons: $(VENV)/.run ## run the commands of docs/lessons again, and write what they print into the pages
	$(BIN)/python -m tools.lessons

fixtures: $(VENV)/.test ## cut the recorded runs of the tests out of results/reference/ again, and store what outputs say of them
	$(BIN)/python -m tests.recorded.cut
	$(PYTEST) tests/show tests/ab -k as_stored --update-outputs

exercise-%: $(VENV)/.run ## check your answer to an exercise: make exercise-1 to exercise-6 (docs/exercises)
	@$(BIN)/python docs/exercises/check.py $*

# The order matters: test.txt has the newest versions, and the others take the same.
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --extra build pyproject.toml
lock: $(VENV)/.test  ## pin the newest versions again, with hashes
	$(PIP) uv
	$(COMPILE) --upgrade --extra test --output-file requirements/test.txt
	$(COMPILE) --constraint requirements/test.txt --output-file requirements/run.txt
	$(COMPILE) --constraint requirements/test.txt --extra models --extra clients --extra locust --output-file requirements/extras.txt
	$(COMPILE) --constraint requirements/test.txt --extra docs --output-file requirements/docs.txt

clean:           ## remove .venv, the site and caches (results stay)
	rm -rf $(VENV) .venv-newest build .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"inflight needs Python 3.11 or newer; {sys.executable} is {v[0]}.{v[1]}. Try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@$(PYTHON) -m venv $(VENV) || { echo "python3 cannot make a virtual environment (on Debian and Ubuntu: apt install python3-venv)"; rm -rf $(VENV); exit 1; }

# pip compiles one file after another; compileall uses all cores. Tests of packages are never imported. A file that is no
# valid Python, of which packages have some as data, must not end the installation; pip ignores it, too.
define install
@$(PIP) --no-compile --require-hashes -r $(1)
@$(BIN)/python -m compileall -qq -j 0 -x 'site-packages/.*/tests/' $(VENV)/lib || true
endef

$(VENV)/.run: $(BIN)/python requirements/run.txt pyproject.toml
	@echo "installing into $(VENV) ..."
	$(call install,requirements/run.txt)
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.extras $(VENV)/.docs: $(VENV)/.%: $(VENV)/.run requirements/%.txt
	$(call install,requirements/$*.txt)
	@touch $@

$(VENV)/.test: $(VENV)/.run requirements/test.txt requirements/otava.txt
	$(call install,requirements/test.txt)
	@$(PIP) --require-hashes --no-deps --only-binary :all: -r requirements/otava.txt || echo "no Apache Otava for this Python: the tests of change points will be skipped"
	@touch $@
