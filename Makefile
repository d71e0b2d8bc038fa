# Everything runs in .venv, which the first target that needs it creates; python3 (3.11 or newer) is all it takes.
# On Windows: `make PYTHON=py BIN=.venv/Scripts` from Git's bash, or type the commands below by hand; the package itself
# needs neither make nor a shell.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint docs results chaos clean

demo: $(READY)  ## a first look: a unit that reads back as a formula, then every unit that multiplies, as a table and a figure
	$(BIN)/python examples/readme.py
	mkdir -p demo
	$(BIN)/nalm run single-module/mul --quick --store demo/runs.db
	$(BIN)/nalm show single-module/mul --quick --store demo/runs.db
	$(BIN)/nalm figure single-module/mul --quick --store demo/runs.db --output demo/multiplication.png --force

test: lint  ## what continuous integration runs
	$(BIN)/pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(READY)  ## the documentation site: site/index.html
	$(BIN)/python -m pages.playground.build
	$(BIN)/python -m zensical build --strict
	@echo "Open site/index.html in a browser."

results: $(READY)  ## the pages that have a template, from the code and the committed tables in results/
	$(BIN)/python -m pages.build
	$(BIN)/python -m pages.headline

SEED ?= 0
chaos: $(READY)  ## more than a thousand faults against the store and the engines: make chaos SEED=7
	$(BIN)/python benchmarks/chaos.py --seed $(SEED)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The stamp keeps the installation from being repeated until what it depends on changes.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@
