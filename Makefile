# Everything a person does with this repository, one word each. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

# Debian packages, by name; installed when missing.
RUN_PACKAGES := libssl-dev libprotobuf-c-dev libsqlite3-dev zlib1g-dev pkg-config
TEST_PACKAGES := $(RUN_PACKAGES) protobuf-c-compiler openssl prometheus
BROWSER_PACKAGES := $(RUN_PACKAGES) chromium chromium-driver nginx-light curl python3-venv
DEB_PACKAGES := $(RUN_PACKAGES) debhelper dpkg-dev python3
INTEROP_PACKAGES := $(RUN_PACKAGES) protobuf-compiler python3-venv

SWIFT_BUILD := swift build --explicit-target-dependency-import-check error
# Few tests at a time: those with real processes and short time limits starve when all run at once on two cores.
SWIFT_TEST := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=6 swift test --disable-xctest
FAILURES_LAST := 2>&1 | awk -f Tests/failures-last.awk

# Foundation's Process keeps itself, or a part of itself; what these tests leak is that and nothing else.
TESTS_WITH_PROCESSES := EndToEndTests|RemotePINServerTests|ScenariosTests|LoadFleetTests|LoadFloodTests|LoadReportTests|LoadEngineTests|PromtoolTests|LabTests.ServerProgramTests

.PHONY: help
help: ## list what make can do
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: demo
demo: packages-run ## build, bring up a fresh lab and show wallets and server at work
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product wallet
	Tests/Demo/demo.sh "$$(swift build --show-bin-path)"

.PHONY: build
build: packages-run ## build the programs for use (.build/release)
	REMOTE_PIN_BUILD_ID="$(GIT_ID)" $(SWIFT_BUILD) -c release

.PHONY: test
test: packages-test lint proto-check ## format lint, proto drift, debug build with import check, all tests, all scenarios
	@echo "== build =="
	$(SWIFT_BUILD) --build-tests
	@echo "== tests =="
	$(SWIFT_TEST) --skip-build $(FAILURES_LAST)
	@echo "== scenarios =="
	$(RUN_SCENARIOS)

# Every case against a real server over TLS; every step of the flows is reached, and the table in docs/ is this run's.
RUN_SCENARIOS = "$$(swift build --show-bin-path)/wallet" run Tests/Scenarios --coverage docs/steps.txt --table-check docs/scenarios.md

.PHONY: scenarios
scenarios: packages-run ## play Tests/Scenarios against real servers; fail where a step of the flows is not reached
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product wallet
	$(RUN_SCENARIOS)

ASAN_SUPPRESSIONS := suppressions=$(CURDIR)/Tests/address-sanitizer.suppressions

.PHONY: check
check: test mutants-check ## test, the same under address and thread sanitizers, release build, demo
	@echo "== address sanitizer, with the search for leaks =="
	ASAN_OPTIONS=$(ASAN_SUPPRESSIONS) $(SWIFT_TEST) --sanitize=address --scratch-path .build-asan --skip '$(TESTS_WITH_PROCESSES)' $(FAILURES_LAST)
	@echo "== address sanitizer, real programs =="
	ASAN_OPTIONS=detect_leaks=0:$(ASAN_SUPPRESSIONS) $(SWIFT_TEST) --sanitize=address --scratch-path .build-asan --filter '$(TESTS_WITH_PROCESSES)' $(FAILURES_LAST)
	@echo "== thread sanitizer =="
	TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/thread-sanitizer.suppressions $(SWIFT_TEST) --sanitize=thread --scratch-path .build-tsan $(FAILURES_LAST)
	@echo "== release build =="
	$(SWIFT_BUILD) -c release
	@echo "== demo =="
	$(MAKE) demo

.PHONY: lint
lint: ## check the format of every Swift file and the dependencies that the manifest declares
	@echo "== lint =="
	swift format lint --strict --recursive Package.swift Sources Tests Benchmarks
	Tests/Manifest/check.py

.PHONY: format
format: ## format every Swift file in place
	swift format --in-place --recursive Package.swift Sources Tests Benchmarks

.PHONY: proto
proto: packages-test ## compile Proto/*.proto to the C that is committed
	Proto/generate.sh

.PHONY: proto-check
proto-check: packages-test ## fail where the committed C is not what Proto/*.proto gives
	@echo "== proto drift =="
	Proto/generate.sh --check

.PHONY: mutants
mutants: packages-test ## break the code on purpose, one rule at a time; a test must fail for each
	Tests/Mutants/run.py

.PHONY: mutants-check
mutants-check: ## check that every mutant still matches the sources; takes a second
	Tests/Mutants/run.py --check

AIMS :=

.PHONY: bench
bench: packages-run ## measure server and load tool against their aims; AIMS="checks unlocks" measures only these
	$(SWIFT_BUILD) -c release --product remote-pin-server
	$(SWIFT_BUILD) -c release --product remote-pin-lab
	$(SWIFT_BUILD) -c release --product pin-load
	Benchmarks/aims.py --programs "$$(swift build -c release --show-bin-path)" $(AIMS)

.PHONY: bench-attestation
bench-attestation: packages-run ## verifications of evidence per second, beside their bare signature checks
	REMOTE_PIN_BENCHMARKS=1 $(SWIFT_BUILD) -c release --product attestation-bench
	"$$(swift build -c release --show-bin-path)/attestation-bench"

SECONDS := 60

.PHONY: fuzz
fuzz: packages-test ## mutate evidence, and balancers' headers, against their parsers, guided by coverage, for SECONDS=60
	Tests/Fuzz/run.sh $(SECONDS)

.PHONY: interop
interop: packages-interop ## a wallet in Python, written from docs/protocol.md, against the real server
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	Tests/interop/run.sh "$$(swift build --show-bin-path)"

PICTURES :=

.PHONY: portal-browser
portal-browser: packages-browser ## the deletion portal in headless Chromium behind nginx; PICTURES=FOLDER keeps what it looked like
	$(SWIFT_BUILD) --product remote-pin-server
	$(SWIFT_BUILD) --product remote-pin-lab
	$(SWIFT_BUILD) --product remote-pin-portal
	$(SWIFT_BUILD) --product wallet
	Tests/Browser/portal.sh "$$(swift build --show-bin-path)" $(PICTURES)

.PHONY: report-browser
report-browser: packages-browser ## the HTML report of a load run in headless Chromium; PICTURES=FOLDER keeps the screenshots
	$(SWIFT_BUILD) --product pin-load
	Tests/Browser/report.sh "$$(swift build --show-bin-path)" $(PICTURES)

# What a program says of the commit with --version; a build that is not told says that it was not.
GIT_ID = $(shell git describe --always --dirty --abbrev=12 2>/dev/null)
# A scratch folder of its own: a static runtime makes everything anew. OUT gets the packages.
RELEASE_SCRATCH := .build-deb
OUT := $(RELEASE_SCRATCH)/packages

.PHONY: deb
deb: packages-deb ## Debian packages with the Swift runtime in the programs; OUT=FOLDER
	@for name in remote-pin-server remote-pin-portal remote-pin-lab wallet pin-load; do \
		REMOTE_PIN_BUILD_ID="$(GIT_ID)" $(SWIFT_BUILD) -c release --static-swift-stdlib --scratch-path $(RELEASE_SCRATCH) --product $$name || exit 1; \
	done
	deploy/debian/build.sh $(RELEASE_SCRATCH)/release $(OUT)

.PHONY: deb-test
deb-test: deb ## as root: install, serve, use, upgrade, remove and purge the packages, in a chroot and under a systemd
	$(call install_packages,mmdebstrap systemd-container)
	rm -rf $(RELEASE_SCRATCH)/newer
	COMPRESSION=-Znone deploy/debian/build.sh $(RELEASE_SCRATCH)/release $(RELEASE_SCRATCH)/newer 99.0
	Tests/Packaging/run.sh $(OUT) $(RELEASE_SCRATCH)/newer
	Tests/Packaging/units.sh $(OUT) $(RELEASE_SCRATCH)/newer

.PHONY: clean
clean: ## remove what was built
	rm -rf .build .build-asan .build-tsan .build-mutants .build-deb

# Names what is missing, then installs it: through sudo unless root.
define install_packages
	@missing=$$(for name in $(1); do dpkg-query -W -f='$${Status}' $$name 2>/dev/null | grep -q 'ok installed' || echo $$name; done | xargs); \
	if [ -n "$$missing" ]; then \
		echo "Missing Debian packages: $$missing. Installing them."; \
		as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; \
	fi; \
	command -v swift >/dev/null || { echo "Swift 6.2 or newer is needed: https://www.swift.org/install" >&2; exit 1; }
endef

.PHONY: packages-run packages-test packages-interop packages-browser packages-deb
packages-deb:
	$(call install_packages,$(DEB_PACKAGES))
packages-run:
	$(call install_packages,$(RUN_PACKAGES))
packages-test:
	$(call install_packages,$(TEST_PACKAGES))
packages-browser:
	$(call install_packages,$(BROWSER_PACKAGES))
packages-interop:
	$(call install_packages,$(INTEROP_PACKAGES))
