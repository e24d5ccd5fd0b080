# HabitStore: `make` alone prints what there is.

SWIFT ?= swift
BUILD_FLAGS ?=
# Where the product is looked for; `make run FIXTURES=…` verifies another folder of fixtures.
FIXTURES ?= fixtures
# `make fuzz SECONDS=600 SEED=7 JOBS=2`
SECONDS ?= 60
SEED ?= 1
JOBS ?= 1
# `make fuzz-live COMMITS=1000000 ROLLOUTS=200 SEED=7`; a rollout takes some ten seconds
COMMITS ?= 200000
ROLLOUTS ?= 20
# `make crash-sweep KILLS=2000 SEED=7 PREVIOUS=…/habitstore-trials` (an earlier version's), `make power-cut CUTS=200`, `make several-processes PULLS=200`
KILLS ?= 2000
PULLS ?= 200
CUTS ?= 200
# `make postgres-up CLUSTERS=2`; the servers' own user has to reach the folder
POSTGRES ?= /tmp/habitstore-postgres
CLUSTERS ?= 2
# `make failover ROUNDS=200 SEED=7`; a round takes some six seconds
failover: ROUNDS = 200
# `make fleet-drill USERS=10000 KILLED=1000 KILLS=100 INDEXED=100000 SEED=7`; 100,000 users take 9 GB of the temporary folder
KILLED ?= 1000
INDEXED ?= 100000
fleet-drill: KILLS = 100
# `make model SIZE=large`
SIZE ?= small
# What `make test` runs in processes of their own; the rest is one more.
TEST_PARTS ?= HabitStoreRolloutTests HabitStore(Postgres|SQLite|LMDB|Fleet)?Tests
# How many tests of a process are begun at once (Swift 6.3; earlier ones begin all): beside a thousand others each would wait for its turn
# until its time limit is over.
TEST_WIDTH ?= 8
# `make race-check RACE_TESTS=HabitStoreFleetTests`; the build with ThreadSanitizer is one of its own
RACE_TESTS ?= ^HabitStore(SQLite|LMDB|Rollout|Fleet)?Tests
RACE_BUILD ?= .build/race
# `make soak-shadow READS=20000 SEED=7`
READS ?= 1000000
DATA ?= both
# `make bench SUITE=table ROUNDS=3`
SUITE ?= all
ROUNDS ?= 7
# `make bench-scale USERS=100000`; 100,000 users take 11 GB of the temporary folder
USERS ?= 10000
# `make bench-growth ENTRIES=5000000`; they take 5 GB of the temporary folder
ENTRIES ?= 1000000
# What `make examples` and `make docs-test` build; not the main build, which packages of their own would undo.
EXAMPLES_BUILD ?= .build/examples
TUTORIAL = Sources/HabitStore/Documentation.docc/Tutorials/AnAppInTenMinutes.tutorial
# The same for packages that use this one without its traits, Dashboard/ and Examples/ThirdEngine: a trait is a flag of every compilation.
PLAIN_BUILD ?= .build/plain

# `make install PREFIX=$HOME/.local`; DESTDIR goes before it, for whoever makes a package
PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: help setup build run test race-check test-times examples docs-test dashboard dashboard-test check must-not-compile format fixtures fuzz fuzz-live fuzz-flags planted-faults planted-changes mapped-contract crash-sweep \
	power-cut postgres-up postgres-down failover fleet-drill several-processes killed-followers model soak-shadow bench bench-scale bench-growth bench-check house tutorial-page docs install clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install the C libraries that are missing, or say how
	@sh scripts/setup.sh

build: setup ## Build everything in release mode
	$(SWIFT) build -c release $(BUILD_FLAGS)

# A debug build: it takes a third of the time that a release build takes, and the tests need it, too.
run: setup ## Build the command, and verify every store in fixtures/ against a fresh copy on the other engine
	$(SWIFT) build --product habitstore $(BUILD_FLAGS)
	@"$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore" verify --fixtures $(FIXTURES)

test: setup ## Run all tests, and compare 20,000 reads while others write
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	@TEST_PARTS="$(TEST_PARTS)" SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="$(TEST_WIDTH)" sh scripts/with-promtool.sh sh scripts/with-postgres.sh \
		sh scripts/test.sh $(SWIFT) test --skip-build --ignore-lock --disable-xctest $(BUILD_FLAGS)
	@"$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore-trials" soak \
		--reads 20000 --seed $(SEED) --queries $(FIXTURES)/queries.json

race-check: setup ## Run the tests of stores, engines, rollouts and fleets under ThreadSanitizer; no race but a planted one may be found: RACE_TESTS
	$(SWIFT) build --build-tests --sanitize=thread --scratch-path "$(RACE_BUILD)" $(BUILD_FLAGS)
	@SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="$(TEST_WIDTH)" sh scripts/race-check.sh "$(RACE_BUILD)/reports" "$(RACE_TESTS)" \
		$(SWIFT) test --skip-build --ignore-lock --disable-xctest --sanitize=thread --scratch-path "$(RACE_BUILD)" $(BUILD_FLAGS)

test-times: setup ## Run each test suite in a process by itself, and print what each costs
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	@SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="$(TEST_WIDTH)" sh scripts/with-promtool.sh sh scripts/with-postgres.sh \
		python3 scripts/test-times.py "$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/HabitStorePackageTests.xctest"

examples: setup ## Build, test and run what is in Examples/: packages of their own, which see what is public only
	@for example in Examples/*/; do \
		if grep -q 'traits: \[\]' "$$example/Package.swift"; then build="$(PLAIN_BUILD)"; else build="$(EXAMPLES_BUILD)"; fi; \
		sh scripts/example.sh "$$example" "$$build" "$(SWIFT)" $(BUILD_FLAGS) || exit 1; \
	done

docs-test: setup ## Run the commands and the examples in articles and doc comments, follow the tutorial, and compare what is printed
	$(SWIFT) build --product habitstore $(BUILD_FLAGS)
	@sh scripts/with-promtool.sh python3 scripts/documentation/commands.py . "$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))"
	@python3 scripts/documentation/check.py . "$(EXAMPLES_BUILD)" "$(SWIFT)" $(BUILD_FLAGS)
	@python3 scripts/documentation/tutorial.py . $(TUTORIAL) Examples/Notes "$(EXAMPLES_BUILD)"

tutorial-page: ## Write the tutorial as Examples/Notes/TUTORIAL.md
	@python3 scripts/documentation/tutorial_page.py $(TUTORIAL) Examples/Notes/TUTORIAL.md

dashboard: setup ## Build the page's server, habitstore-serve, in release mode: a package of its own
	$(SWIFT) build -c release --package-path Dashboard --scratch-path "$(PLAIN_BUILD)" --product habitstore-serve $(BUILD_FLAGS)
	@echo "habitstore-serve is in $$($(SWIFT) build -c release --package-path Dashboard --scratch-path "$(PLAIN_BUILD)" \
		--show-bin-path $(BUILD_FLAGS)); \`make install\` installs it beside habitstore"

dashboard-test: setup ## Drive the page by a browser and by hand: refusals, events, pictures in .build/plain/pictures, buttons
	$(SWIFT) build --package-path Dashboard --scratch-path "$(PLAIN_BUILD)" --product habitstore-serve $(BUILD_FLAGS)
	@sh scripts/dashboard-test.sh "$$($(SWIFT) build --package-path Dashboard --scratch-path "$(PLAIN_BUILD)" --show-bin-path \
		$(BUILD_FLAGS))/habitstore-serve" "$(PLAIN_BUILD)/pictures"

check: setup ## Lint the format, build everything (warnings are errors, see Package.swift), what must not compile, cycles of folders, the tutorial's page
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tracker Lab Tests Examples Benchmarks/Package.swift Benchmarks/Sources \
		Dashboard/Package.swift Dashboard/Sources
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	@sh scripts/must-not-compile.sh "$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))" $(SWIFT)c
	@sh scripts/macro-expansions.sh "$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))" $(SWIFT)c
	@python3 scripts/house.py --check
	@python3 scripts/documentation/tutorial_page.py $(TUTORIAL) Examples/Notes/TUTORIAL.md --check

must-not-compile: setup ## Typecheck what must not compile, each error at its line, and expand what macros make: Tests/MustNotCompile, MacroExpansions
	$(SWIFT) build --product HabitStoreMacros $(BUILD_FLAGS)
	@sh scripts/must-not-compile.sh "$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))" $(SWIFT)c
	@sh scripts/macro-expansions.sh "$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))" $(SWIFT)c

format: ## Format the code in place
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tracker Lab Tests Examples Benchmarks/Package.swift Benchmarks/Sources \
		Dashboard/Package.swift Dashboard/Sources

fixtures: setup ## Write fixtures/ anew, and say whether the bytes are the same as before
	@sh scripts/fixtures.sh "$(SWIFT)"

fuzz: setup ## Run random queries on all stores: SECONDS, SEED, JOBS, DATA (lived-in, specimens, both)
	$(SWIFT) build -c release --product habitstore-trials $(BUILD_FLAGS)
	@sh scripts/with-postgres.sh "$$($(SWIFT) build -c release --show-bin-path $(BUILD_FLAGS))/habitstore-trials" fuzz \
		--seconds $(SECONDS) --seed $(SEED) --jobs $(JOBS) --data $(DATA)

fuzz-live: setup ## Compare live queries with fetches, over random commits and rollouts with several processes: COMMITS, ROLLOUTS, SEED
	$(SWIFT) build -c release --product habitstore-trials $(BUILD_FLAGS)
	@"$$($(SWIFT) build -c release --show-bin-path $(BUILD_FLAGS))/habitstore-trials" fuzz-live \
		--commits $(COMMITS) --seed $(SEED)
	@"$$($(SWIFT) build -c release --show-bin-path $(BUILD_FLAGS))/habitstore-trials" live-rollout \
		--rounds $(ROLLOUTS) --seed $(SEED)

fuzz-flags: setup ## Feed damaged flag files and rules to the module that reads them: SECONDS, SEED
	$(SWIFT) build -c release --product habitstore-trials $(BUILD_FLAGS)
	@"$$($(SWIFT) build -c release --show-bin-path $(BUILD_FLAGS))/habitstore-trials" fuzz-flags \
		--seconds $(SECONDS) --seed $(SEED)

planted-faults: setup ## Plant faults in stores, and print which checks and how many shadow reads catch each: SEED
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	HABITSTORE_PLANTED_FAULTS=.build/planted-faults.md HABITSTORE_PLANTED_FAULTS_SEED=$(SEED) \
		sh scripts/with-postgres.sh $(SWIFT) test --skip-build --disable-xctest $(BUILD_FLAGS) \
		--filter 'theTableOfAllFaults|theFullVerificationSaysWhatIsWrongOnAServer' \
		> .build/planted-faults.log 2>&1 || { tail -40 .build/planted-faults.log; exit 1; }
	@cat .build/planted-faults.md

planted-changes: setup ## Make every change of a catalogue to stores' files; each must be found, or stated in the documentation
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	HABITSTORE_PLANTED_CHANGES=1 $(SWIFT) test --skip-build --disable-xctest $(BUILD_FLAGS) --filter PlantedChangeTests

mapped-contract: setup ## Run the whole contract on an app's own tables with text keys, too, and all faults of a rollout out of them or into them
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	HABITSTORE_MAPPED_CONTRACT=1 $(SWIFT) test --skip-build --disable-xctest $(BUILD_FLAGS) --filter 'Mapped(Contract|Rollout)Tests'

crash-sweep: setup ## Kill processes during writes and moves, and check their stores: KILLS, SEED
	$(SWIFT) build --product habitstore-trials $(BUILD_FLAGS)
	@"$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore-trials" crash sweep --kills $(KILLS) --seed $(SEED)
	@"$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore-trials" crash sweep --kills $(KILLS) --seed $(SEED) --mapped
	@CLUSTERS=2 sh scripts/with-postgres.sh sh -c 'test -z "$$HABITSTORE_POSTGRES" || \
		"$$0" crash sweep --kills $(KILLS) --seed $(SEED) --servers $$HABITSTORE_POSTGRES' \
		"$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore-trials"
	@"$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore-trials" crash group-sweep --kills $(KILLS) --seed $(SEED)
	@"$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore-trials" crash migration-sweep --kills $(KILLS) --seed $(SEED)
	@"$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore-trials" crash launch-sweep --kills $(KILLS) --seed $(SEED)
	@"$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore-trials" crash concurrent-sweep --kills $(KILLS) --seed $(SEED) \
		$(if $(PREVIOUS),--previous $(PREVIOUS))

power-cut: setup ## Shut down an ext4 file system under running processes, and check their stores; needs root and loop devices: CUTS, SEED
	$(SWIFT) build --product habitstore-trials $(BUILD_FLAGS)
	@sh scripts/power-cut.sh "$$($(SWIFT) build --show-bin-path $(BUILD_FLAGS))/habitstore-trials" $(CUTS) $(SEED)

several-processes: setup ## Six processes use a user who is moved and killed: PULLS, SEED
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	HABITSTORE_TRAFFIC_KILLS=$(PULLS) HABITSTORE_TRAFFIC_SEED=$(SEED) \
		$(SWIFT) test --skip-build --disable-xctest $(BUILD_FLAGS) --filter SeveralProcessesTests

killed-followers: setup ## Kill processes that follow a Core Data file while its app writes, and check the result
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	HABITSTORE_KILLED_FOLLOWERS=1 $(SWIFT) test --skip-build --disable-xctest $(BUILD_FLAGS) --filter KilledFollowingTests

postgres-up: setup ## Start a PostgreSQL primary with a synchronous standby, CLUSTERS times, and say where they are
	@sh scripts/postgres.sh up $(POSTGRES) $(CLUSTERS)

postgres-down: ## Stop them
	@sh scripts/postgres.sh down $(POSTGRES)

failover: setup ## Kill PostgreSQL primaries while stores on them are written to: ROUNDS, SEED
	$(SWIFT) build -c release --product habitstore-trials $(BUILD_FLAGS)
	@"$$($(SWIFT) build -c release --show-bin-path $(BUILD_FLAGS))/habitstore-trials" failover \
		--rounds $(ROUNDS) --seed $(SEED)

fleet-drill: setup ## Move a fleet to complete during writes, with a fault and killed runs, and measure it: USERS, KILLED, KILLS, INDEXED, SEED
	$(SWIFT) build -c release --product habitstore-trials $(BUILD_FLAGS)
	@"$$($(SWIFT) build -c release --show-bin-path $(BUILD_FLAGS))/habitstore-trials" fleet-drill \
		--users $(USERS) --killed $(KILLED) --kills $(KILLS) --indexed $(INDEXED) --seed $(SEED)

model: ## Check the rollout's protocol with Spin; earlier, wrong rules must fail: SIZE (small, large)
	@sh scripts/model.sh $(SIZE)

soak-shadow: setup ## Compare reads of two engines during writes by eight threads; none may differ: READS, SEED
	$(SWIFT) build -c release --product habitstore-trials $(BUILD_FLAGS)
	@"$$($(SWIFT) build -c release --show-bin-path $(BUILD_FLAGS))/habitstore-trials" soak \
		--reads $(READS) --seed $(SEED) --queries $(FIXTURES)/queries.json

bench: setup ## Measure against the same work in C and with GRDB, flags, openings, rollout, mapped, verifier, scale, threads, live, servers: SUITE, ROUNDS
	$(SWIFT) build --package-path Benchmarks -c release
	@mkdir -p .build
	@$(if $(filter server all,$(SUITE)),sh scripts/with-postgres.sh) \
		"$$($(SWIFT) build --package-path Benchmarks -c release --show-bin-path)/habitstore-bench" measure $(SUITE) \
		--rounds $(ROUNDS) --json .build/bench.json --plot .build/bench.svg

bench-scale: setup ## Measure users in one process, 1 to USERS: memory, open files, maps, opening
	$(SWIFT) build --package-path Benchmarks -c release
	@"$$($(SWIFT) build --package-path Benchmarks -c release --show-bin-path)/habitstore-bench" measure scale --users $(USERS)

bench-growth: setup ## Measure one user with a thousand entries, up to ENTRIES
	$(SWIFT) build --package-path Benchmarks -c release
	@"$$($(SWIFT) build --package-path Benchmarks -c release --show-bin-path)/habitstore-bench" measure growth \
		--entries $(ENTRIES)

bench-check: setup ## Fail if work takes more allocations, records or instructions than its limits; needs valgrind
	$(SWIFT) build --package-path Benchmarks -c release
	@"$$($(SWIFT) build --package-path Benchmarks -c release --show-bin-path)/habitstore-bench" check

house: ## Print which targets and folders refer to which, and where they form cycles
	@python3 scripts/house.py

docs: setup ## Make the documentation in .build/docs
	@sh scripts/docs.sh "$(SWIFT)"

# The manual page is made by swift-argument-parser's plugin, from a release build of all commands.
install: setup ## Install the command, its completions and its manual page, and habitstore-serve if it was built: PREFIX, DESTDIR
	$(SWIFT) package plugin generate-manual
	$(SWIFT) build -c release --product habitstore $(BUILD_FLAGS)
	@DESTDIR="$(DESTDIR)" sh scripts/install-command.sh \
		"$$($(SWIFT) build -c release --show-bin-path $(BUILD_FLAGS))/habitstore" \
		.build/plugins/GenerateManual/outputs/HabitStoreCommand/habitstore.1 "$(PREFIX)" \
		"$(PLAIN_BUILD)/release/habitstore-serve"

clean: ## Remove what was built
	rm -rf .build Benchmarks/.build Dashboard/.build Examples/*/.build
