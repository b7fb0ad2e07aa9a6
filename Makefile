# make setup   everything into .venv, locked; Kafka's and Spark's jars into the user's cache
# make test    linters, types, layers, and one test of every capability on real components, in
#              three processes; PROCESSES=N changes that
# make test-all  make test, and then the tests that are marked long; what CI runs
# make lint    linters, types, layers
# make browser a Chromium for the dashboard's tests, where there is none (make test does it)
# make explore 10,000 random topologies, scenarios and faults; SEEDS=N and SEED=S change that
# make fuzz    mutated inputs for every reader of files and every decoder, MINUTES=N, SEED=S
# make soak    every kind of fault on real Kafka, more than an hour, writes docs/faults.md; SECONDS=N of
#              load, MESSAGES=N in the first run, SEED=S
# make mutants faults in the code, each killed by a test, most on real Kafka; 30 minutes
# make faults  every container killed, frozen, cut off, restarted, scaled; 20 minutes, needs Docker,
#              writes its part of docs/faults.md; RATE=N messages a second
# make test-containers  the tests that need Kafka or PostgreSQL, on both in containers
# make recount the monitor's figures against DuckDB's, 200,000 messages, two killed drivers
# make replay  100,000 messages replayed beside the captured run, MESSAGES=N; under the same topology
#              and under changed ones
# make demo    the demonstration; SABOTAGE=1 breaks something on the way, KEEP=1 leaves the system
#              running with its dashboard, until hopline demo --stop
# make bench   all benchmarks in one table, 40 minutes; ROUNDS=N sets the number of rounds
#              bench-routing, ... (bench/): one part; bench-kafka_memory, bench-kafka_heartbeats,
#              bench-kafka_partitions and bench-verify: run separately, because they take long
# make docs    the documentation site, in build/site; a broken link fails
# make lock    update the lock files, with hashes; writes THIRD_PARTY_NOTICES.md, and audits
# make audit   known vulnerabilities of the locked packages and jars; exit code 2 where the
#              vulnerability services cannot be reached
# make sbom    a CycloneDX SBOM of each image, in build/sbom
# make package build wheel and source archive from the last commit, in build/package, check them, and
#              install the base and every extra into empty environments: PYTHONS="python3.11 python3.14"

PYTHON ?= python3
BIN    := .venv/bin
STAMP  := .venv/.installed
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Tests start hundreds of processes of Hopline: where nothing is kept, each compiles all of it anew.
export PYTHONDONTWRITEBYTECODE :=

PYTEST := $(BIN)/pytest -n $(or $(PROCESSES),3) --dist loadfile --durations 10

BENCHES := $(addprefix bench-,routing analysis forwarder crossing endpoint kafka_forwarder kafka_latency \
  kafka_endpoint kafka_end_to_end kafka_backlog open_dialogs kafka_agents kafka_memory kafka_heartbeats \
  kafka_partitions capture)

.PHONY: setup browser lint test test-all test-containers explore fuzz soak mutants faults recount replay demo bench $(BENCHES) \
  bench-verify docs lock audit sbom package clean

# setuptools comes first, and nothing is built in isolation, because pip installs without hashes what an
# isolated build needs. pyspark is published as source only.
setup: $(STAMP)
	@$(BIN)/python requirements/check.py
	@$(BIN)/hopline kafka prepare --spark

$(STAMP): pyproject.toml setup.py requirements/lock.txt
	@$(PYTHON) requirements/check.py
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python requirements/wanted.py build-system >.venv/build-system.txt
	$(PIP) install --require-hashes -r .venv/build-system.txt
	$(PIP) install --require-hashes --no-build-isolation -r requirements/lock.txt
	PYTHONWARNINGS=ignore $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# What is there is used; else Debian's package where that may be installed; else playwright's own.
browser: setup
	@$(BIN)/python -m tests.dashboard.find_browser || \
	  { apt-get --version >/dev/null 2>&1 && test "$$(id -u)" = 0 && apt-get update -qq && \
	    apt-get install -y -qq chromium >/dev/null; } || \
	  $(BIN)/playwright install chromium

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict --num-workers 2
	$(BIN)/lint-imports

test: browser lint
	$(PYTEST) -m "not long"

# Two sessions, because a broker with thousands of topics of earlier tests is slow: with 4,000 topics
# it lists them in 0.2 s.
test-all: test
	$(PYTEST) -m long

explore: setup
	$(BIN)/hopline simulate --explore $(or $(SEEDS),10000) --seed $(or $(SEED),0)

fuzz: setup
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),30) --seed $(or $(SEED),1)

soak: setup
	$(BIN)/python -m tests.faults --seconds $(or $(SECONDS),1500) \
	  --messages $(or $(MESSAGES),200000) --seed $(or $(SEED),1)

mutants: setup
	$(BIN)/python -m tests.mutants

faults: setup
	$(BIN)/python -m tests.containers --rate $(or $(RATE),20)

test-containers: setup
	$(BIN)/pytest --containers -n $(or $(PROCESSES),2) --dist loadfile

recount: setup
	HOPLINE_MESSAGES=$(or $(MESSAGES),200000) $(BIN)/pytest tests/monitor/test_duckdb.py

replay: setup
	HOPLINE_REPLAY=$(or $(MESSAGES),100000) $(BIN)/pytest -n0 tests/cli/test_replay_again.py

demo: setup
	$(BIN)/hopline demo $(if $(filter-out 0,$(SABOTAGE)),--sabotage) $(if $(filter-out 0,$(KEEP)),--keep-running)

bench: setup
	@$(BIN)/python -m bench --rounds $(or $(ROUNDS),5)

$(BENCHES): bench-%: setup
	@$(BIN)/python -m bench.$* --rounds $(or $(ROUNDS),5)

bench-verify: setup
	@$(BIN)/python -m bench.verify

# MkDocs imports docs_site/ and streams/ from here; Material prints an announcement without the variable.
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "build/site/index.html"

# With the oldest supported Python, so that what only old versions need is in the lock. Hashes are
# those of all files of a version, so that the lock holds for every platform. pip-compile loses the
# markers of extras, and Python 3.14 has no backports.zstd.
# Jars are locked likewise, by requirements/lock_jars.py: streams/embedded/*.lock, bench/mirror.lock.
lock:
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet pip-tools==7.6.2
	build/lock/bin/pip-compile --quiet --upgrade --all-extras --strip-extras --allow-unsafe --generate-hashes \
	  --no-header --no-emit-options --no-emit-index-url --no-emit-trusted-host \
	  --no-emit-find-links --annotation-style=line --output-file requirements/lock.txt pyproject.toml
	sed -i.bak -E 's/^(backports-zstd==[^ ]+) /\1 ; python_version < "3.14" /' requirements/lock.txt
	rm requirements/lock.txt.bak
	$(BIN)/python requirements/lock_jars.py
	$(MAKE) setup
	$(BIN)/python -m requirements.notices
	$(BIN)/python -m requirements.audit || echo "make lock goes on: make audit fails as long as this is so"

audit: setup
	@$(BIN)/python -m requirements.audit

sbom: setup
	@$(BIN)/python -m requirements.sbom build/sbom

package: setup
	@$(BIN)/python -m requirements.package $(PYTHONS)

clean:
	@test ! -x $(BIN)/hopline || $(BIN)/hopline kafka stop
	rm -rf .venv .hopline build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache \
	  .hypothesis .import_linter_cache artifacts spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
