# Everything runs in .venv, which the first target that needs it creates; python3 (3.11 or newer) is all it takes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint docs clean

demo: $(READY)  ## a first look: train a unit and read the formula it learned
	$(BIN)/python examples/readme.py

test: lint  ## what continuous integration runs
	$(BIN)/pytest -n 2

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(READY)  ## the pages that are generated from the code
	$(BIN)/python docs/generate_units.py

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The stamp keeps the installation from being repeated until what it depends on changes.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@
