# The same targets that people and CI call. `make demo` and `make test` set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
DEV := $(VENV)/.dev
DRILLS := PYTHONPATH=tools $(BIN)/python -m drills
ADVICE_CACHE ?= $(HOME)/.cache/unhang-advice
SCORE := PYTHONPATH=tools $(BIN)/python -m score
# Tests that start no job run on every core, up to eight.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); \
	if [ $$n -gt 8 ]; then echo 8; elif [ $$n -lt 2 ]; then echo 2; else echo $$n; fi)

# Tests that start jobs mostly wait for them: one more than there are cores keeps the cores at work.
# More of them at once starve each other's ranks.
JOBS ?= $(shell echo $$(($(WORKERS) + 1)))

# The order of the tests is drawn by this number, so that a red run can be repeated.
SEED ?= 1
PYTEST := $(BIN)/pytest --randomly-seed=$(SEED)
# Each of these takes one core.
BESIDE = $(MAKE) --no-print-directory --jobs=$(WORKERS) --output-sync=target

# Each process that a test starts imports the package: what was compiled is kept.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo setup lock locked test unit check lint types contracts score fuzz coverage mutants gate advice bench drills drill-live drill-check proof docs pictures site sbom chinese release clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(CORE): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[fast,remote,screens]' --group dev torch
	@touch $@ $(CORE)

locked: | $(BIN)/python ## the environment from packages whose hashes are known (Python 3.11 on; torch is yours)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .

lock: $(DEV) ## write dev.lock anew (needs uv)
	head -1 dev.lock > $(VENV)/.lock
	uv pip compile pyproject.toml --extra fast --extra remote --extra screens --group dev --quiet \
		--constraint constraints.txt --generate-hashes --universal --python-version 3.11 \
		--no-annotate --no-header >> $(VENV)/.lock
	mv $(VENV)/.lock dev.lock

demo: $(CORE) ## diagnose a bundled failure of a real job (installs the core only, no torch)
	$(BIN)/unhang diagnose tests/cases/demo/input

setup: $(DEV) ## make the whole development environment in .venv

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy

contracts: $(DEV)
	$(BIN)/lint-imports --no-cache

unit: $(DEV) ## the pure tests of single parts: no process, no socket, no sleep, no corpus
	$(PYTEST) tests/unit src -m 'not process' -n $(WORKERS)

check: $(DEV) ## lint, types, import contracts and the tests that start no job
	+$(BESIDE) lint types contracts
	$(PYTEST) -m 'not integration' -n $(WORKERS)

test: $(DEV) ## everything that CI runs
	+$(BESIDE) types gate lint contracts
	$(PYTEST) -m 'not integration' -n $(WORKERS)
	$(PYTEST) tests/integration -m integration -n $(JOBS) --dist worksteal

score: $(DEV) ## judge all labelled jobs and write docs/accuracy.md
	$(SCORE) --write docs/accuracy.md

chinese: $(DEV) ## what the commands print in Chinese, over all cases (`make test` asks about some)
	UNHANG_ALL_CASES=1 $(PYTEST) tests/integration/test_commands_in_chinese.py -n $(WORKERS)

fuzz: $(DEV) ## attack the judge with mutated inputs for an hour (SECONDS=…)
	$(BIN)/pytest -q --hypothesis-profile random tests/property tests/unit/sources
	cd tests && PYTHONPATH=. ../$(BIN)/python -m fuzz --seconds $(or $(SECONDS),3600)
	cd tests && PYTHONPATH=. ../$(BIN)/python -m fuzz.beside

coverage: $(DEV) ## the branches of parsers, rules, ranking and wait graph that the unit tests do not reach
	$(BIN)/coverage erase
	$(BIN)/coverage run $(PYTEST) tests/unit tests/property -m 'not process' -n $(WORKERS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

mutants: $(DEV) ## change one thing of a module at a time: which changes no test notices (AREA=verdict/ranking, MOST=40)
	$(BIN)/python tools/mutate.py $(AREA) --most $(or $(MOST),40)

gate: $(DEV) ## every labelled job of this project is judged right
	$(SCORE) --corpus own --gate

bench: $(DEV) ## measure against ripgrep (apt-get install ripgrep) and write the pages of docs/
	$(BIN)/python -m benchmarks --large-gib 10 --write docs/bench.md
	$(BIN)/python -m benchmarks.scale --write docs/performance.md
	$(BIN)/python -m benchmarks.fleet
	$(BIN)/python -m benchmarks.flight_recorder --write docs/bench-dumps.md
	$(BIN)/python -m benchmarks.stacks
	PYTHONPATH=tests $(BIN)/python -m benchmarks.pages --write docs/bench-pages.md
	$(BIN)/python -m benchmarks.collector
	$(BIN)/python -m benchmarks.probe
	$(BIN)/python -m benchmarks.save_time --write docs/planning-saves.md

drills: $(DEV) ## fail real jobs on purpose, judge them, and write docs/drills.md (as root: all of them)
	rm -rf $(VENV)/rehearsals
	failed=0; \
	$(DRILLS) --write docs/drills.md || failed=1; \
	$(BIN)/unhang drill rehearse all --live --out $(VENV)/rehearsals --pages docs/situations \
		|| failed=1; \
	exit $$failed

drill-live: $(DEV) ## the same faults under `unhang run`: who is named, how soon; writes docs/drills-live.md
	$(DRILLS) --live --write docs/drills-live.md

drill-check: $(DEV) ## `unhang check` of hosts in namespaces, a fault in each; writes docs/drills-check.md (as root, quiet machine)
	$(BIN)/pip install --quiet ray
	UNHANG_DRILL_CHECK=1 UNHANG_DRILL_CHECK_PAGE=docs/drills-check.md \
		$(BIN)/pytest -m integration -p no:randomly tests/integration/test_check_cluster.py

advice: $(DEV) ## ask the released frameworks whether the advice is true, and write docs/advice.md
	PYTHONPATH=tools $(BIN)/python -m advice --cache $(ADVICE_CACHE) --write docs/advice.md

proof: $(DEV) ## ten troubled jobs with and without the judge (half an hour), and write docs/proof.md
	$(BIN)/python -m benchmarks.proof --write docs/proof.md

docs: $(DEV) ## write the generated pages and the verdict in the README, and build the site
	$(BIN)/python tools/docs.py
	+$(MAKE) --no-print-directory site

pictures: $(DEV) ## take the pictures of docs/ anew (apt-get install chromium chromium-driver)
	PYTHONPATH=tools:tests $(BIN)/python tools/screenshots.py

site: $(DEV) ## build the pages of docs/ as a site: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

sbom: $(DEV) ## write what a release is made of: dist/unhang.cdx.json (CycloneDX)
	@mkdir -p dist
	$(BIN)/python tools/sbom.py fast fleet gpu live mcp otel ray remote screens > dist/unhang.cdx.json

release: $(DEV) ## build the wheel, and ask it for verdicts on each of PYTHONS, with old packages, too (needs uv)
	$(BIN)/python tools/release.py $(or $(PYTHONS),3.10 3.11 3.12 3.13 3.14)

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
