# The tasks of this repository. Run `make` to list them.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

# Required Debian packages; missing ones are installed.
RUN_PACKAGES := libssl-dev libprotobuf-c-dev libsqlite3-dev libpq-dev libp11-kit-dev zlib1g-dev pkg-config
KEYS_PACKAGES := $(RUN_PACKAGES) gcc libc6-dev python3 softhsm2 swtpm tpm2-tools
TEST_PACKAGES := $(KEYS_PACKAGES) protobuf-c-compiler openssl postgresql prometheus
BROWSER_PACKAGES := $(RUN_PACKAGES) chromium chromium-driver nginx-light curl python3-venv
MODEL_PACKAGES := spin gcc libc6-dev
DEB_PACKAGES := $(RUN_PACKAGES) binutils debhelper dpkg-dev python3
RELEASE_PACKAGES := $(DEB_PACKAGES) minisign mmdebstrap umoci
# Those of PostgreSQL and etcd each start a service, which nothing here uses.
CLUSTER_PACKAGES := $(RUN_PACKAGES) postgresql patroni etcd-server haproxy faketime iproute2 openssl python3-venv
INTEROP_PACKAGES := $(RUN_PACKAGES) protobuf-compiler python3-venv

SWIFT_BUILD := swift build --explicit-target-dependency-import-check error
# The folder of the programs of a debug build.
DEBUG = "$$(swift build --show-bin-path)"
# Limited parallelism: tests with real processes and short time limits fail if all run at once on two cores.
# A run that does not end is ended, so that its output names the tests that did not.
SWIFT_TEST := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=6 timeout --foreground 50m swift test --disable-xctest
FAILURES_LAST := 2>&1 | awk -f Tests/failures-last.awk

# Excluded from the leak check: Foundation's Process leaks in these tests, and nothing else does.
TESTS_WITH_PROCESSES := EndToEndTests|RemotePINServerTests|ScenariosTests|^KeysTests|PublicSurfaceTests|LoadFleetTests|LoadFloodTests|LoadReportTests|LoadEngineTests|PromtoolTests|LabTests.ServerProgramTests|BootTimeTests

# A description begins with the users whom its target is for, unless these are developers.
.PHONY: help
help: ## everyone: list the targets
	@awk -F ':.*## ' -v users='everyone,end-to-end testers,load testers,operators,developers' ' \
		BEGIN { count = split(users, user, ",") } \
		/^[a-z-]+:.*## / { \
			group = user[count]; text = $$2; \
			for (i = 1; i < count; i++) if (sub("^" user[i] ": ", "", text)) group = user[i]; \
			lines[group] = lines[group] sprintf("  %-18s%s\n", $$1, text); \
		} \
		END { for (i = 1; i <= count; i++) printf "%s%s:\n%s", (i > 1 ? "\n" : ""), user[i], lines[user[i]] }' $(MAKEFILE_LIST)

.PHONY: demo
demo: packages-run ## everyone: build, start a fresh lab and demonstrate wallets and server
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product wallet
	Tests/Demo/demo.sh $(DEBUG)

.PHONY: build
build: packages-run ## everyone: build the programs for use (.build/release)
	REMOTE_PIN_BUILD_ID="$(GIT_ID)" $(SWIFT_BUILD) -c release

.PHONY: test
test: packages-test lint proto-check ## format lint, proto drift, debug build with import check, all tests, all scenarios, released files
	@echo "== build =="
	$(SWIFT_BUILD) --build-tests
	@echo "== tests =="
	$(SWIFT_TEST) --skip-build $(FAILURES_LAST)
	@echo "== scenarios =="
	$(RUN_SCENARIOS)
	@echo "== files of released versions =="
	Tests/Released/check.py $(DEBUG)

# Plays every case against a real server over TLS, requires every step of the flows, and checks the table in docs/.
RUN_SCENARIOS = $(DEBUG)/wallet run Tests/Scenarios --coverage docs/steps.txt --table-check docs/scenarios.md

.PHONY: scenarios
scenarios: packages-run ## end-to-end testers: play Tests/Scenarios against real servers; fail if a step of the flows is not reached
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product wallet
	$(RUN_SCENARIOS)

ASAN_SUPPRESSIONS := suppressions=$(CURDIR)/Tests/address-sanitizer.suppressions
LSAN_SUPPRESSIONS := suppressions=$(CURDIR)/Tests/leak-sanitizer.suppressions:print_suppressions=0

.PHONY: check
check: test mutants-check ## test, the same under address and thread sanitizers, release build, demo
	@echo "== address sanitizer, with leak detection =="
	ASAN_OPTIONS=$(ASAN_SUPPRESSIONS) LSAN_OPTIONS=$(LSAN_SUPPRESSIONS) $(SWIFT_TEST) --sanitize=address --scratch-path .build-asan --skip '$(TESTS_WITH_PROCESSES)' $(FAILURES_LAST)
	@echo "== address sanitizer, real programs =="
	ASAN_OPTIONS=detect_leaks=0:$(ASAN_SUPPRESSIONS) $(SWIFT_TEST) --sanitize=address --scratch-path .build-asan --filter '$(TESTS_WITH_PROCESSES)' $(FAILURES_LAST)
	@echo "== thread sanitizer =="
	TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/thread-sanitizer.suppressions $(SWIFT_TEST) --sanitize=thread --scratch-path .build-tsan $(FAILURES_LAST)
	@echo "== benchmarks =="
	for name in attestation handshake receipt; do \
		REMOTE_PIN_BENCHMARKS=1 $(SWIFT_BUILD) --product $$name-bench || exit; done
	@echo "== release build =="
	$(SWIFT_BUILD) -c release
	@echo "== demo =="
	$(MAKE) demo

.PHONY: keys-test
keys-test: packages-keys ## the daemon of a PKCS#11 module over SoftHSM with injected faults, a software TPM and a key service
	$(SWIFT_BUILD) --build-tests
	$(SWIFT_TEST) --skip-build --filter KeysTests $(FAILURES_LAST)

.PHONY: lint
lint: ## check the format of every Swift file, the lengths of lines and the dependencies in the manifest
	@echo "== lint =="
	swift format lint --strict --recursive Package.swift Sources Tests Benchmarks
	Tests/Format/check.py
	Tests/Manifest/check.py

.PHONY: format
format: ## format every Swift file in place
	swift format --in-place --recursive Package.swift Sources Tests Benchmarks

.PHONY: proto
proto: packages-test ## generate the committed C from Proto/*.proto
	Proto/generate.sh

.PHONY: proto-check
proto-check: packages-test ## fail if the committed C does not match Proto/*.proto
	@echo "== proto drift =="
	Proto/generate.sh --check

.PHONY: mutants
mutants: packages-test ## apply one mutation at a time; a test must fail for each
	Tests/Mutants/run.py

.PHONY: mutants-check
mutants-check: ## check that every mutant still matches the sources; takes a second
	Tests/Mutants/run.py --check

.PHONY: surface
surface: packages-test ## record the public surface anew in docs/surface.txt; docs/compatibility.md says which changes are allowed
	REMOTE_PIN_TEST_SURFACE=record $(SWIFT_TEST) --filter PublicSurfaceTests

.PHONY: model
model: packages-model ## explore the Promela model in docs/model; fail if a mutant of it violates nothing
	docs/model/check.sh

# Arguments of the explorer, such as "attempts messages=5"; EXPLORE=--help lists them.
EXPLORE :=

.PHONY: explore
explore: packages-run ## run server and store through all interleavings within bounds; EXPLORE="attempts messages=5", EXPLORE=--help
	REMOTE_PIN_BENCHMARKS=1 $(SWIFT_BUILD) --product explore
	$(if $(EXPLORE),$(DEBUG)/explore $(EXPLORE),$(call explore_all,$(DEBUG)))

explore_all = $(1)/explore --plans | xargs -n 1 -P "$$(nproc)" $(1)/explore
simulate = $(1)/simulate JOBS=$$(nproc)

# The build with switches for the broken rules. No rule is broken in it unless the variable MUTANT names one.
SWITCHED := .build-mutants/tree/.build/debug

.PHONY: proof
proof: mutants-check packages-run model ## explorer, model, 2,000 simulated seeds, and broken rules that they must find
	Tests/Mutants/run.py --explore --simulate
	$(call explore_all,$(SWITCHED))
	Tests/Explore/model.py $(SWITCHED)/explore
	$(call simulate,$(SWITCHED)) SEEDS=63-80 --twice
	$(call simulate,$(SWITCHED)) SEEDS=2000

# Arguments of the simulator besides SEED or SEEDS, such as "--trace"; SIMULATE=--help lists them.
SIMULATE :=
SEEDS := 200

.PHONY: simulate-build
simulate-build: packages-run
	REMOTE_PIN_BENCHMARKS=1 $(SWIFT_BUILD) --product simulate

.PHONY: simulate
simulate: simulate-build ## simulate servers and wallets with faults; SEED=37 or SEEDS=200, SIMULATE=--help
	$(call simulate,$(DEBUG)) $(if $(SEED),SEED=$(SEED),SEEDS=$(SEEDS)) $(SIMULATE)

FAULTS :=

.PHONY: faults
faults: packages-run ## damage a lab server in every way that operators meet; fail if a guess is given back; FAULTS="log" selects some
	$(call install_packages,strace softhsm2)
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-keys
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product pin-load
	Tests/Faults/run.py $(DEBUG) $(FAULTS)

# Arguments of Tests/Cluster/run.py, such as --synchronous on. If this user may make networks, they can be cut.
NETWORKS := ip link add hub type bridge && ip link add left type veth peer name right
CLUSTER = $(shell unshare --net sh -c '$(NETWORKS)' 2>/dev/null && echo --namespaces)

.PHONY: cluster
cluster: packages-cluster cluster-programs ## operators: three servers on a PostgreSQL cluster with failovers on this machine, until Control-C; CLUSTER="--help"
	Tests/Cluster/run.py up $(CLUSTER) --programs $(DEBUG)

.PHONY: cluster-test
cluster-test: packages-cluster cluster-programs ## PIN checks through servers on a PostgreSQL cluster with failovers; fail if a promise is broken; 3 minutes
	Tests/Cluster/run.py test $(CLUSTER) --programs $(DEBUG)

DURATION := 10m

.PHONY: cluster-prove
cluster-prove: packages-cluster cluster-programs ## the same for ten minutes and with every fault; DURATION=10m
	Tests/Cluster/run.py test $(CLUSTER) --duration $(DURATION) --faults all --programs $(DEBUG)

.PHONY: cluster-programs
cluster-programs:
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product pin-load
	$(SWIFT_BUILD) --product wallet

AIMS :=

.PHONY: bench
bench: packages-run bench-programs ## load testers: measure server and load tool against their aims; AIMS="checks unlocks" selects some
	$(call install_packages,gcc libc6-dev softhsm2)
	Benchmarks/aims.py --programs "$$(swift build -c release --show-bin-path)" $(AIMS)

.PHONY: bench-programs
bench-programs:
	$(SWIFT_BUILD) -c release --product remote-pin-server
	$(SWIFT_BUILD) -c release --product remote-pin-keys
	$(SWIFT_BUILD) -c release --product remote-pin-lab
	$(SWIFT_BUILD) -c release --product pin-load
	REMOTE_PIN_BENCHMARKS=1 $(SWIFT_BUILD) -c release --product handshake-bench

.PHONY: bench-attestation
bench-attestation: packages-run ## measure evidence verifications per second, with signature checks for comparison
	REMOTE_PIN_BENCHMARKS=1 $(SWIFT_BUILD) -c release --product attestation-bench
	"$$(swift build -c release --show-bin-path)/attestation-bench"

.PHONY: bench-receipts
bench-receipts: packages-run ## measure the CPU time of a receipt: a store's checks with and without, in turn
	REMOTE_PIN_BENCHMARKS=1 $(SWIFT_BUILD) -c release --product receipt-bench
	"$$(swift build -c release --show-bin-path)/receipt-bench"

.PHONY: bench-servers
bench-servers: packages-cluster bench-programs ## load testers: measure servers on a PostgreSQL cluster; AIMS="checks servers revocations wallets" selects some
	Benchmarks/servers.py --programs "$$(swift build -c release --show-bin-path)" $(AIMS)

BUILDS :=

.PHONY: bench-builds
bench-builds: packages-test packages-deb ## measure clean builds in new clones (35 minutes); BUILDS="demo build test deb" selects some
	Benchmarks/builds.py $(BUILDS)

SECONDS := 180
# Names of targets; all if empty. `.build-fuzz/release/fuzz --list` lists them.
TARGET :=

.PHONY: fuzz
fuzz: packages-run ## fuzz messages, conversations, evidence and files with the address sanitizer; SECONDS=180, TARGET="server wal"
	Tests/Fuzz/run.sh $(SECONDS) $(TARGET)

HOURS := 8

.PHONY: night
night: packages-run packages-cluster ## fuzz, soak, cluster and simulator for HOURS=8; one report in .build-night
	Tests/night.py $(HOURS)

.PHONY: interop
interop: packages-interop ## test the server with a Python wallet written from docs/protocol.md
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	Tests/interop/run.sh $(DEBUG)

.PHONY: pytest-plugin
pytest-plugin: packages-interop ## end-to-end testers: install the pytest plugin with pip from its folder and run tests that use it
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product wallet
	Tests/Pytest/run.sh $(DEBUG)

PICTURES :=

.PHONY: portal-browser
portal-browser: packages-browser ## test the deletion portal in headless Chromium behind nginx; PICTURES=FOLDER keeps screenshots
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product remote-pin-portal
	$(SWIFT_BUILD) --product wallet
	Tests/Browser/portal.sh $(DEBUG) $(PICTURES)

.PHONY: report-browser
report-browser: packages-browser ## test a load run's HTML report in headless Chromium; PICTURES=FOLDER keeps screenshots
	$(SWIFT_BUILD) --product pin-load
	Tests/Browser/report.sh $(DEBUG) $(PICTURES)

.PHONY: scenarios-browser
scenarios-browser: packages-browser ## test the HTML report of scenarios in headless Chromium; PICTURES=FOLDER keeps screenshots
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product wallet
	Tests/Browser/scenarios.sh $(DEBUG) $(PICTURES)

# The commit that --version shows, also if it has a tag.
GIT_ID = $(shell git describe --always --exclude='*' --dirty --abbrev=12 2>/dev/null)
# A separate build folder, since the static runtime rebuilds everything. OUT receives the packages.
RELEASE_SCRATCH := .build-deb
OUT := $(RELEASE_SCRATCH)/packages

# The compiler maps a path, but puts its unmapped length into code (withoutActuallyEscaping). Through this link from
# the scratch folder to itself, the paths of the packages have the same length in every folder.
RELEASE_LINK = $(shell LC_ALL=C printf %.200s $(CURDIR)/$(RELEASE_SCRATCH)/$$(printf _%.0s {1..199}))

# The programs contain no path of the build's folder, and no hash of the compiler's arguments, which have it.
RELEASE_BUILD = REMOTE_PIN_BUILD_ID="$(GIT_ID)" REMOTE_PIN_ICU_DATA="$(CURDIR)/$(RELEASE_SCRATCH)/icu-data.o" \
	$(SWIFT_BUILD) -c release --static-swift-stdlib --scratch-path $(RELEASE_LINK) -debug-info-format none \
	-Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen \
	$(foreach map,$(CURDIR)=/remote-pin $(RELEASE_LINK)=/remote-pin/$(RELEASE_SCRATCH), \
		-Xswiftc -file-prefix-map -Xswiftc $(map) -Xcc -ffile-prefix-map=$(map) -Xcxx -ffile-prefix-map=$(map))

.PHONY: programs
programs: packages-deb
	@mkdir -p $(RELEASE_SCRATCH)
	@[[ $(RELEASE_LINK) == $(CURDIR)/$(RELEASE_SCRATCH)/_* ]] || { echo "this folder's path is too long" >&2; exit 1; }
	@ln -sfn . $(RELEASE_LINK)
	deploy/release/icu-data.py $(RELEASE_SCRATCH)/icu-data.o
	@for name in remote-pin-server remote-pin-portal remote-pin-keys remote-pin-lab wallet pin-load; do \
		$(RELEASE_BUILD) --product $$name || exit 1; \
	done

.PHONY: deb
deb: programs ## operators: build Debian packages with the Swift runtime linked statically; OUT=FOLDER
	rm -rf $(RELEASE_SCRATCH)/packages
	deploy/debian/build.sh $(RELEASE_SCRATCH)/release $(OUT)

# The file of a minisign key; its public key is beside it, with the ending .pub.
KEY :=

.PHONY: release
release: OUT := $(RELEASE_SCRATCH)/published
release: packages-release programs ## packages, image, manifests, lists of their parts, digests, signature; KEY=FILE, OUT=FOLDER
	rm -rf $(RELEASE_SCRATCH)/published
	deploy/release/build.sh $(RELEASE_SCRATCH)/release $(OUT) $(KEY)

.PHONY: release-test
release-test: packages-release programs ## as root: make a release twice, compare and verify it, and run its image
	$(call install_packages,podman runc python3-venv)
	Tests/Packaging/release.sh $(RELEASE_SCRATCH)/release

.PHONY: deb-test
deb-test: deb ## as root: test the packages from install to purge, in a chroot and in a container with systemd
	$(call install_packages,mmdebstrap systemd-container)
	Tests/Packaging/run.sh $(OUT)
	Tests/Packaging/units.sh $(OUT)

.PHONY: clean
clean: ## everyone: remove build products
	rm -rf .build .build-asan .build-tsan .build-mutants .build-deb .build-fuzz .build-night

# Lists and installs missing packages, with sudo unless run as root.
define install_packages
	@missing=$$(for name in $(1); do dpkg-query -W -f='$${Status}' $$name 2>/dev/null | grep -q 'ok installed' || echo $$name; done | xargs); \
	if [ -n "$$missing" ]; then \
		echo "Missing Debian packages: $$missing. Installing them."; \
		as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; \
	fi; \
	command -v swift >/dev/null || { echo "Swift 6.2 or newer is needed: https://www.swift.org/install" >&2; exit 1; }
endef

.PHONY: packages-run packages-test packages-keys packages-interop packages-browser packages-cluster packages-deb packages-model packages-release
packages-cluster:
	$(call install_packages,$(CLUSTER_PACKAGES))
packages-deb:
	$(call install_packages,$(DEB_PACKAGES))
packages-release:
	$(call install_packages,$(RELEASE_PACKAGES))
packages-model:
	$(call install_packages,$(MODEL_PACKAGES))
packages-run:
	$(call install_packages,$(RUN_PACKAGES))
packages-keys:
	$(call install_packages,$(KEYS_PACKAGES))
packages-test:
	$(call install_packages,$(TEST_PACKAGES))
packages-browser:
	$(call install_packages,$(BROWSER_PACKAGES))
packages-interop:
	$(call install_packages,$(INTEROP_PACKAGES))
