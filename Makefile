PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test browser lint docs lock clean

# The same trap, network and number of episodes, with ES and with BGES. ES stays in a trap of this width on nine of ten
# seeds (docs/results.md), this one among them.
DEMO := runs/demo
DEMO_TASK := point-wide --set env.kwargs.trap_half_width=6 --iterations 150
demo: $(VENV)/.core
	rm -rf $(DEMO)
	$(BIN)/bges train $(DEMO_TASK) --set algorithm=es --out $(DEMO)/es
	$(BIN)/bges train $(DEMO_TASK) --out $(DEMO)/bges
	$(BIN)/bges report $(DEMO)/es $(DEMO)/bges --out $(DEMO)/report.html --picture $(DEMO)/picture.png

test: $(VENV)/.test
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

# The report in a real browser; `make test` skips this where there is none.
browser: $(VENV)/.test
	BGES_NEED_BROWSER=1 $(BIN)/python -m pytest tests/report/test_browser.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config setup.cfg --no-logo

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --quiet
	@echo build/site/index.html

# One lock file holds the exact version of everything, as constraints for every install.
$(VENV)/.core: EXTRAS := [bgpg]
$(VENV)/.test: EXTRAS := [bgpg,dm,robotics,video,test]
$(VENV)/.lint: EXTRAS := [bgpg,dm,robotics,video,test,lint]
$(VENV)/.docs: EXTRAS := [bgpg,docs]
$(VENV)/.%: setup.cfg requirements.lock
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable ".$(EXTRAS)"
	touch $@

lock: $(VENV)/.lint
	$(BIN)/pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --all-extras --strip-extras --no-emit-index-url --no-emit-trusted-host \
		--no-emit-options --no-header --upgrade --output-file requirements.lock setup.cfg

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache
