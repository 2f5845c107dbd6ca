# Every target works from a fresh clone: it makes .venv with what it needs first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SECONDS ?= 60
FUZZERS := $(filter-out %/__init__.py %/conftest.py,$(filter-out tests/fuzz/test_%,$(wildcard tests/fuzz/*.py)))
PART   :=
JOBS   := 3
PYTEST := $(BIN)/python -m pytest

.PHONY: help demo run series goldens memory c10k locust c100k c1m map models clients scaling race limits claims selftest selftest-long test test-all night test-night mutants fuzz check speed docs lock readme schema lessons bench clean

help:            ## say what there is
	@awk -F'## ' '/^[a-z0-9%-]+:.*## /{split($$1,t,":"); printf "make %-10s %s\n", t[1], $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.run   ## see in ten seconds a race of one page at a time against many
	$(BIN)/inflight demo

run: $(VENV)/.run    ## run the preset "quick": a page with plots of this machine after 20 seconds, complete in under two minutes
	$(BIN)/inflight run quick

memory: $(VENV)/.run ## measure what a thread, a task, a fetch in flight costs, in all layers of memory
	$(BIN)/inflight run memory

c10k: $(VENV)/.run   ## hold 10,000 fetches in flight with every strategy
	$(BIN)/inflight run c10k

locust: $(VENV)/.locust ## install Locust too, for inflight swarm and open-loop

c100k: $(VENV)/.locust ## hold 100,000 in flight in many processes, with every event-driven strategy (needs Locust; some minutes)
	$(BIN)/inflight run c100k

c1m: $(VENV)/.locust ## hold a million in flight (needs Locust, 17 GB of free memory, some minutes)
	$(BIN)/inflight run c1m

map: $(VENV)/.run    ## measure which model fetches most where: added latency x CPU work x in flight (ten minutes)
	$(BIN)/inflight run map

models: $(VENV)/.strategies ## measure what each layer costs: callbacks, await, asyncio, uvloop, threads (two minutes)
	$(BIN)/inflight run models

clients: $(VENV)/.strategies ## measure which HTTP client keeps its throughput with 1 to 2,048 in flight (ten minutes)
	$(BIN)/inflight run clients

scaling: $(VENV)/.run ## measure which model turns a second core into pages, and from which CPU work per page on (six minutes)
	$(BIN)/inflight run scaling

race: $(VENV)/.run   ## let the strategies crawl side by side, and watch it
	$(BIN)/inflight race

limits: $(VENV)/.run ## find how many threads, descriptors, ports a process gets here, and which limit binds
	$(BIN)/inflight limits --out results

claims: $(VENV)/.run ## put the well-known claims to the test here (half an hour)
	$(BIN)/inflight claims

# Compiled tests are kept, whatever the environment says: collecting them takes seconds otherwise, in each process.
test test-all night: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.test  ## run the tests to wait for; PART= takes folders or files, JOBS= the number of processes
	$(PYTEST) -m "not ci and not night" -n $(JOBS) --dist worksteal $(PART)

test-all: $(VENV)/.test docs ## run all that CI runs: these tests, wheels, plots, the stored runs, pages in a browser
	$(PYTEST) -m "not night" -n $(JOBS) --dist worksteal $(PART)

night: $(VENV)/.test docs ## run the tests that measure: lessons, presets, every interpreter (an hour)
	$(PYTEST) -m night $(PART)

test-night: SECONDS := 600
test-night: night mutants fuzz ## run those, plant bugs for the tests to find, and fuzz for half an hour

mutants: $(VENV)/.test ## plant 300 small bugs, and print the share that the tests find, per part of the code (an hour or two)
	$(BIN)/python -m tools.mutants --jobs 2 --out build/mutants.jsonl $(if $(COSTS),--costs $(COSTS)) $(if $(wildcard tools/mutants.json),--baseline tools/mutants.json)

fuzz: $(VENV)/.test  ## run each fuzzer for SECONDS (60 unless given), and stop at the first find
	@for program in $(FUZZERS); do echo "$$program"; $(BIN)/python $$program --seconds $(SECONDS) || exit 1; done

check: $(VENV)/.test ## run the linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

selftest: $(VENV)/.locust ## measure how noisy this machine is, and how often verdicts are wrong here (a quarter of an hour)
	$(BIN)/inflight selftest

selftest-long: $(VENV)/.run ## 30 real decisions without a change and 10 with each planted slowdown (an hour or two; runs again where it stopped)
	$(BIN)/python -m tools.selftest_long $(if $(DISTURBED),--disturbed $(DISTURBED) --sizes 5 --out results/selftest-long-$(DISTURBED))

speed: $(VENV)/.run  ## measure the server and the strategies against their targets (needs wrk)
	$(BIN)/python -m tools.speed

bench: $(VENV)/.test ## benchmark every strategy with pytest-benchmark; BENCH= takes more options, such as --benchmark-compare
	$(BIN)/python -m pytest tests/suite/benchmarks.py --benchmark-only --benchmark-autosave --benchmark-columns=min,median,max,rounds $(BENCH)

docs: $(VENV)/.docs  ## build the documentation as a site that needs no network: build/site/index.html
	$(BIN)/python -m sphinx --builder html --fresh-env --fail-on-warning --keep-going --quiet --conf-dir docs/site . build/site
	@echo "build/site/index.html"

lock: $(VENV)/.test  ## pin the newest versions again, with hashes
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --upgrade --extra test --extra build pyproject.toml --output-file constraints-test.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --extra build --constraint constraints-test.txt pyproject.toml --output-file constraints.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --extra build --extra locust --constraint constraints-test.txt pyproject.toml --output-file constraints-locust.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --extra build --extra models --extra clients --constraint constraints-test.txt pyproject.toml --output-file constraints-strategies.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --extra build --extra docs --constraint constraints-test.txt pyproject.toml --output-file constraints-docs.txt

readme: $(VENV)/.run ## write what README.md and docs/ quote and show of results/reference/ again
	$(BIN)/python -m tools.document

series: $(VENV)/.run ## run the models once more for the series of runs over days, and store the rows (a minute and a half)
	$(BIN)/python -m tools.series

goldens: $(VENV)/.run ## show what has changed since BASE (a revision) in every output of the reference runs
	$(BIN)/python -m tools.goldens $(if $(BASE),--base $(BASE))

schema: $(VENV)/.run ## write bench/rows/row.schema.json again, from the records of bench/rows
	$(BIN)/python -m inflight.bench.rows.schema

exercise-%: $(VENV)/.run ## check your answer to an exercise: make exercise-1 to exercise-6 (docs/exercises)
	@$(BIN)/python docs/exercises/check.py $*

lessons: $(VENV)/.run ## run the commands of docs/lessons again, and write what they print into the pages
	$(BIN)/python -m tools.lessons

clean:           ## remove .venv, the site and caches (results stay)
	rm -rf $(VENV) .venv-newest build .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"inflight needs Python 3.11 or newer; {sys.executable} is {v[0]}.{v[1]}. Try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@$(PYTHON) -m venv $(VENV) || { echo "python3 cannot make a virtual environment (on Debian and Ubuntu: apt install python3-venv)"; rm -rf $(VENV); exit 1; }

# pip compiles one file after another; compileall uses all cores. Tests of packages are never imported. A file that is no
# valid Python, of which packages have some as data, must not end the installation; pip ignores it, too.
define install
@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r $(1)
@$(BIN)/python -m compileall -qq -j 0 -x 'site-packages/.*/tests/' $(VENV)/lib || true
endef

$(VENV)/.run: $(BIN)/python constraints.txt pyproject.toml
	@echo "installing into $(VENV) ..."
	$(call install,constraints.txt)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.locust: $(VENV)/.run constraints-locust.txt
	$(call install,constraints-locust.txt)
	@touch $@

$(VENV)/.strategies: $(VENV)/.run constraints-strategies.txt
	$(call install,constraints-strategies.txt)
	@touch $@

$(VENV)/.docs: $(VENV)/.run constraints-docs.txt
	$(call install,constraints-docs.txt)
	@touch $@

$(VENV)/.test: $(VENV)/.run constraints-test.txt constraints-history.txt
	$(call install,constraints-test.txt)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r constraints-history.txt || echo "no Apache Otava for this Python: the tests of change points will be skipped"
	@touch $@
