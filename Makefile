# Two commands for a newcomer: make demo, make test. Each sets up what it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
LOWEST := .venv-lowest

.PHONY: demo test test-lowest lint docs dist bench clean

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/onepass demo --report demo.html --force

# A file's tests stay in one process, so that no kernel is compiled twice at the same time.
test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The same with the oldest versions that pyproject.toml allows.
$(LOWEST)/.ready: pyproject.toml .ci/lowest.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) .ci/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(LOWEST)/constraints.txt --editable '.[dev]'
	touch $@

test-lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, in docs/_build/html: a warning is an error, every example is run, nothing is fetched to read it.
.venv/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	touch $@

docs: .venv/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -j 2 -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# A wheel and an sdist in dist/, looked at; the sdist is unpacked, installed and its quick tests are run from there.
dist: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dist]'
	rm -rf dist && $(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	rm -rf dist/unpacked && mkdir dist/unpacked && tar -xzf dist/*.tar.gz -C dist/unpacked --strip-components 1
	$(PYTHON) -m venv dist/venv
	dist/venv/bin/python -m pip install --quiet --disable-pip-version-check 'dist/unpacked[dev]'
	cd dist/unpacked && ../venv/bin/python -m pytest -n 2 -m "(learners or certificates or io) and not slow" tests

bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv $(LOWEST) docs/_build docs/examples docs/reference/generated .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
