# Kairship's tasks. `make` alone lists them. Everything that a target needs beyond Go is looked for
# first, and installed or named when it is missing.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The folder of the fleet that run, up, down, status and logs work on, and more flags for the fleet of
# run, up, test and bench, such as FLAGS="--db postgres" (deploy/local/README.md).
DIR ?= .local
FLAGS ?=

# Tests and benchmarks have a fleet of their own, with other ports, so that a running one is never
# disturbed.
TEST_DIR ?= .local-test
TEST_PORT_BASE ?= 18400
BENCH_DIR ?= .local-bench
BENCH_PORT_BASE ?= 19400

# Tests and what they run collect garbage less often, which takes less of the processor and more memory. Kairship itself
# is as it is elsewhere (deploy/local).
TEST_GOGC ?= 400

# What `make static` writes into the programs; when empty, they say which commit they are of.
VERSION ?=

# The folder of the real node that real and real-down work on, and more flags for it, such as
# REAL_FLAGS="--network 10.99.0.0/30" (docs/real.md).
REAL_DIR ?= .real
REAL_TEST_DIR ?= .real-test
REAL_FLAGS ?=

SCALE ?= 1000
SCALE_DIR ?= .local-scale
SCALE_PORT_BASE ?= 20400
SCALE_MORE_PORT_BASE ?= 20500
# The cores of what is measured, and those of the fleet beside it, whose control planes
# are other machines' elsewhere: where there are more cores, it can be given its own.
SCALE_CORES ?= 0,1
SCALE_MORE_CORES ?= $(SCALE_CORES)

# How many workloads `make scale-index` fills the index with.
SCALE_WORKLOADS ?= 100000

# Everything is compiled as it is released: without C, and without paths, so that clones in several folders share the
# compiler's cache, and tests share it with the programs.
export CGO_ENABLED := 0
export GOFLAGS := $(strip -trimpath $(filter-out -trimpath,$(GOFLAGS)))

# What is passed on to `go test`, and to the benchmarks (go run ./test/bench --help).
TESTFLAGS ?=
BENCHFLAGS ?=

FLEET = go run ./deploy/local
TOOL = go tool -modfile=tools/go.mod

##@ The fleet

.PHONY: run
run: ui ## Build what is missing, start the whole fleet, show how to use it; Ctrl-C stops it
	@# Not `go run`: the program itself must be what Ctrl-C ends, and what make waits for.
	@mkdir -p bin && go build -o bin/fleet ./deploy/local
	@exec bin/fleet run --dir $(DIR) $(FLAGS)

.PHONY: up
up: ui ## Start the fleet in the background, or heal a running one
	@$(FLEET) up --dir $(DIR) $(FLAGS)

.PHONY: down
down: ## Stop the fleet; its data stays (FLAGS=--purge removes that too)
	@$(FLEET) down --dir $(DIR) $(FLAGS)

.PHONY: status
status: ## Show the fleet's processes and clusters
	@$(FLEET) status --dir $(DIR)

.PHONY: logs
logs: ## Show the log of one process: make logs P=kairship-apiserver
	@$(FLEET) logs --dir $(DIR) $(P)

.PHONY: real
real: ui ## A real node in namespaces of this machine, with Kairship's chart, a Managed instance, a member and an application on it (root on Linux; docs/real.md)
	@mkdir -p bin && go build -o bin/real ./deploy/real
	@bin/real up --dir $(REAL_DIR) $(REAL_FLAGS)

.PHONY: real-down
real-down: ## Stop the real node and remove everything of it
	@mkdir -p bin && go build -o bin/real ./deploy/real
	@bin/real down --purge --dir $(REAL_DIR)

##@ Build

.PHONY: build
build: ui ## Build Kairship's programs into bin/, and the fleet's components into this machine's cache
	@echo "==> Kairship's programs, into bin/"
	@mkdir -p bin
	go build -buildvcs=auto -o bin/kairship-apiserver ./cmd/apiserver
	go build -buildvcs=auto -o bin/kairship-controller-manager ./cmd/controller-manager
	go build -buildvcs=auto -o bin/kubectl-kairship ./cmd/kubectl-kairship
	@$(MAKE) components TEST_DIR=$(DIR)

.PHONY: static
static: ## Build Kairship's programs as they are released, static, into bin/static (VERSION=v1.2.3)
	@echo "==> Kairship's programs, static, into bin/static"
	@for program in apiserver controller-manager; do hack/static.sh $$program "$(VERSION)" bin/static/kairship-$$program; done
	@hack/static.sh kubectl-kairship "$(VERSION)" bin/static/kubectl-kairship
	@go run ./hack/licenses -texts bin/static/licenses.txt

.PHONY: plugin
plugin: ## Make what a release publishes of kubectl's plugin, into bin/plugin: archives, and the manifest for krew (VERSION=v1.2.3)
	@echo "==> kubectl's plugin for each platform, into bin/plugin"
	@hack/plugin.sh "$(VERSION)"

.PHONY: reproducible
reproducible: ## Build the released programs twice, in two folders, and compare the bytes (KAIRSHIP_LONG=1: without the compiler's cache)
	@echo "==> the same bytes twice"
	@hack/reproducible.sh

.PHONY: released-crds
released-crds: ## Keep what a release publishes, for the test that upgrades keep what is stored (VERSION=v1.2.3)
	@hack/released-crds.sh "$(VERSION)"

.PHONY: components
components:
	@echo "==> the fleet's components, into this machine's cache"
	@$(FLEET) build --dir $(TEST_DIR)

.PHONY: ui
ui: ## Build the console and the GraphiQL page when their sources changed (without npm they say how to get them)
	@hack/ui.sh console "the console" docs/schema.graphql
	@hack/ui.sh graphiql GraphiQL
	@hack/identityprovider.sh

.PHONY: generate
generate: ## Generate code and manifests: GraphQL server, deep copies, CRDs, roles, the role reference
	@echo "==> GraphQL server"
	go tool gqlgen generate
	go generate ./...
	@echo "==> deep copies and CRDs"
	$(TOOL) controller-gen object crd paths=./pkg/apis/... output:crd:dir=deploy/helm/kairship/crds
	@echo "==> the programs' roles"
	$(TOOL) controller-gen rbac:roleName=kairship-apiserver,fileName=rbac-apiserver.yaml \
		paths=./cmd/apiserver/... output:rbac:dir=deploy/helm/kairship/files
	$(TOOL) controller-gen rbac:roleName=kairship-controller-manager,fileName=rbac-controller-manager.yaml \
		"paths=./pkg/controllers/...;./cmd/controller-manager/..." output:rbac:dir=deploy/helm/kairship/files
	@echo "==> the role reference"
	go run ./hack/rolereference

##@ Check

.PHONY: test
test: verify test-unit reproducible test-fleet ## Everything: verify, unit tests, and the suites against a fleet of their own
	@echo "==> all passed"

# Tests are not vetted once more: the linter does that.
.PHONY: test-unit
test-unit: components static ## Unit tests: nothing needs to run; those of CRDs, controllers and the chart start an API server
	@echo "==> helm, for the chart's tests"
	@go tool -modfile=tools/helm/go.mod -n helm >/dev/null
	@echo "==> unit tests"
	GOGC=$(TEST_GOGC) KAIRSHIP_REQUIRE_ENVTEST=1 KUBEBUILDER_ASSETS=$(abspath $(TEST_DIR))/bin go test -vet=off $(TESTFLAGS) $$(go list ./... | grep -v '/kairship/test')

.PHONY: test-fleet
test-fleet: ui ## The suites in test/ and GraphiQL in a browser, against a fleet started for them
	@echo "==> suites against a fleet in $(TEST_DIR)"
	@GOGC=$(TEST_GOGC) $(FLEET) with --dir $(TEST_DIR) --port-base $(TEST_PORT_BASE) --operator $(FLAGS) -- hack/test-suites.sh $(TESTFLAGS)

.PHONY: test-long
test-long: ## The unit tests and the suites in their long form, as a release runs them: every case of those that `make test` leaves out
	@KAIRSHIP_LONG=1 $(MAKE) test-unit reproducible test-fleet

.PHONY: test-faults
test-faults: ui ## Of these only those that kill and stop parts of the fleet (KAIRSHIP_FAULTS=0 leaves them out)
	@echo "==> faults in a fleet in $(TEST_DIR)"
	@GOGC=$(TEST_GOGC) KAIRSHIP_FAULTS=only $(FLEET) with --dir $(TEST_DIR) --port-base $(TEST_PORT_BASE) --operator $(FLAGS) -- hack/test-suites.sh $(TESTFLAGS)

.PHONY: chaos
chaos: ui ## Ten minutes of chaos in a fleet of its own (KAIRSHIP_CHAOS=10m, KAIRSHIP_CHAOS_SEED=n to repeat one); a short form is in test-long
	@echo "==> chaos in a fleet in $(TEST_DIR)"
	@KAIRSHIP_CHAOS=$${KAIRSHIP_CHAOS:-10m} $(FLEET) with --dir $(TEST_DIR) --port-base $(TEST_PORT_BASE) $(FLAGS) -- \
		go test -count=1 -timeout 60m -run '^TestChaos$$' -v $(TESTFLAGS) ./test/faults

.PHONY: test-upgrade
test-upgrade: ## An upgrade from a release (FROM=v1.2.3) to the working tree, and back, under load, with a fleet of that release's own on PostgreSQL
	@echo "==> an upgrade from $(FROM) and back, in a fleet in $(TEST_DIR)-upgrade"
	@hack/test-upgrade.sh "$(FROM)" "$(TEST_DIR)-upgrade" $(TEST_PORT_BASE)

.PHONY: test-real
test-real: ui ## The chart, a Managed instance and running pods on a real node of its own, which must leave nothing behind; about half an hour, root on Linux (docs/real.md)
	@echo "==> suite against a real node in $(REAL_TEST_DIR)"
	@mkdir -p bin && go build -o bin/real ./deploy/real
	@bin/real with --dir $(REAL_TEST_DIR) --values test/real/testdata/values.yaml $(REAL_FLAGS) -- go test -count=1 -timeout 60m -v $(TESTFLAGS) ./test/real
	@$(MAKE) test-real-bundled

.PHONY: test-real-bundled
test-real-bundled: ui ## Of these only the quick start, with PostgreSQL and Clusterpedia by the chart; about ten minutes
	@echo "==> the quick start, on a real node in $(REAL_TEST_DIR)"
	@mkdir -p bin && go build -o bin/real ./deploy/real
	@KAIRSHIP_REAL_BUNDLED=1 bin/real with --bundled --dir $(REAL_TEST_DIR) $(REAL_FLAGS) -- go test -count=1 -timeout 30m -v $(TESTFLAGS) \
		-run '^(TestManagedInstance|TestApplicationRuns|TestRestricted|TestMemoryWithinRequests|TestHelmTest|TestBundled.*|TestUninstalledForGood)$$' ./test/real

.PHONY: test-real-karmada
test-real-karmada: ui ## On a real node: an upgrade of the operator and of an instance from one release of Karmada to the next, under load
	@echo "==> an upgrade of Karmada, on a real node in $(REAL_TEST_DIR)"
	@mkdir -p bin && go build -o bin/real ./deploy/real
	@KAIRSHIP_REAL_EARLIER=1 bin/real with --earlier-karmada --dir $(REAL_TEST_DIR) $(REAL_FLAGS) -- go test -count=1 -timeout 30m -v $(TESTFLAGS) -run '^TestKarmadaUpgrade$$' ./test/real

.PHONY: test-real-member
test-real-member: components ui ## A real node as a member of a process fleet: its containers crash, and are read and entered, through Kairship
	@echo "==> a real node in $(REAL_TEST_DIR), a member of a fleet in $(TEST_DIR)"
	@mkdir -p bin && go build -o bin/real ./deploy/real
	@$(FLEET) with --dir $(TEST_DIR) --port-base $(TEST_PORT_BASE) $(FLAGS) -- \
		env KAIRSHIP_REAL_MEMBER=1 bin/real with --member-of $(TEST_DIR) --dir $(REAL_TEST_DIR) $(REAL_FLAGS) -- go test -count=1 -timeout 10m -v $(TESTFLAGS) -run '^TestMemberOfFleet$$' ./test/real

.PHONY: test-real-upgrade
test-real-upgrade: ui ## On a real node: an upgrade of the chart and images of a release (FROM=v1.2.3) to the working tree, and back, under load
	@echo "==> an upgrade from $(FROM) and back, on a real node in $(REAL_TEST_DIR)-upgrade"
	@mkdir -p bin && go build -o bin/real ./deploy/real
	@hack/test-real-upgrade.sh "$(FROM)" $(REAL_TEST_DIR)-upgrade $(REAL_FLAGS)

.PHONY: truth
truth: ui ## Ten minutes of changes and faults, with every claim held against the clusters (KAIRSHIP_TRUTH=30m, KAIRSHIP_TRUTH_SEED=n to repeat one); a short form is in test
	@echo "==> truth in a fleet in $(TEST_DIR)"
	@KAIRSHIP_TRUTH=$${KAIRSHIP_TRUTH:-10m} $(FLEET) with --dir $(TEST_DIR) --port-base $(TEST_PORT_BASE) $(FLAGS) -- \
		go test -count=1 -timeout 120m -run '^TestTruth$$' -v $(TESTFLAGS) ./test/truth

# The benchmarks ask for more as one user than one user may.
UNLIMITED_USER := --user-operations-per-second=1000000 --user-operations-burst=1000000 --user-cost-per-second=1000000000 --user-cost-burst=1000000000

.PHONY: test-previews
test-previews: ui ## 200 previews of generated policies against what Karmada does (KAIRSHIP_PREVIEWS=n, KAIRSHIP_PREVIEWS_SEED=n to repeat some); a short form is in test
	@echo "==> previews in a fleet in $(TEST_DIR)"
	@KAIRSHIP_PREVIEWS=$${KAIRSHIP_PREVIEWS:-200} $(FLEET) with --dir $(TEST_DIR) --port-base $(TEST_PORT_BASE) $(FLAGS) -- \
		go test -count=1 -timeout 30m -v $(TESTFLAGS) ./test/preview

.PHONY: bench
bench: ui ## The read path against a plain REST client, with a fleet of its own; ratios are printed
	@echo "==> benchmarks against a fleet in $(BENCH_DIR)"
	@KAIRSHIP_APISERVER_FLAGS="$(UNLIMITED_USER)" $(FLEET) with --dir $(BENCH_DIR) --port-base $(BENCH_PORT_BASE) $(FLAGS) -- go run ./test/bench --fleet $(BENCH_DIR) $(BENCHFLAGS)

.PHONY: scale-index
scale-index: ui ## Reads of an index of a million objects (SCALE_WORKLOADS=100000, ten objects each), with a fleet of its own on PostgreSQL
	@echo "==> $(SCALE_WORKLOADS) workloads in the index of a fleet in $(BENCH_DIR)"
	@KAIRSHIP_APISERVER_FLAGS="$(UNLIMITED_USER)" $(FLEET) with --dir $(BENCH_DIR) --port-base $(BENCH_PORT_BASE) --db postgres $(FLAGS) -- go run ./test/bench --fleet $(BENCH_DIR) --scale-index $(SCALE_WORKLOADS) $(BENCHFLAGS)

.PHONY: bench-passthrough
bench-passthrough: ui ## The native passthrough against the instance itself and a bare proxy, with a fleet of its own
	@echo "==> benchmark of the passthrough against a fleet in $(BENCH_DIR)"
	@$(FLEET) with --dir $(BENCH_DIR) --port-base $(BENCH_PORT_BASE) $(FLAGS) -- go test -run '^$$' -bench . -benchtime 1x ./test/proxy

.PHONY: bench-live
bench-live: ui ## Subscriptions against a raw watch: lag of events and memory, with a fleet of its own
	@echo "==> benchmark of subscriptions against a fleet in $(BENCH_DIR)"
	@$(FLEET) with --dir $(BENCH_DIR) --port-base $(BENCH_PORT_BASE) $(FLAGS) -- go test -run '^$$' -bench . -benchtime 1x -timeout 30m ./test/live $(BENCHFLAGS)

.PHONY: test-convergence
test-convergence: ui ## The long form of the test that subscribers agree with the truth: 50 of them, 2,000 changes
	@$(FLEET) with --dir $(TEST_DIR) --port-base $(TEST_PORT_BASE) $(FLAGS) -- go test -count=1 -timeout 30m -run TestConvergence -v ./test/live -args -convergence-subscribers=50 -convergence-changes=2000

.PHONY: scale
scale: ui ## A thousand instances (SCALE=…) of four control planes with one controller manager, with two fleets of its own on two cores (SCALE_MORE_CORES=2,3 gives the second one others)
	@command -v taskset >/dev/null || { echo "error: taskset is missing, which keeps what is measured on its cores (on Debian: apt-get install util-linux)"; exit 1; }
	@echo "==> $(SCALE) instances against the fleets in $(SCALE_DIR) and $(SCALE_DIR)-more"
	@taskset -c $(SCALE_MORE_CORES) $(FLEET) with --dir $(SCALE_DIR)-more --port-base $(SCALE_MORE_PORT_BASE) -- \
		taskset -c $(SCALE_CORES) env KAIRSHIP_SCALE=$(SCALE) KAIRSHIP_SCALE_MORE=$(abspath $(SCALE_DIR)-more) \
		$(FLEET) with --dir $(SCALE_DIR) --port-base $(SCALE_PORT_BASE) $(FLAGS) -- \
		go test -count=1 -timeout 60m -v $(TESTFLAGS) ./test/scale

.PHONY: verify
verify: verify-generated verify-schema verify-words verify-format verify-tidy lint ## Generated code, breaks of the schema, plain words, format, go.mod and lint (go vet is part of it), without changing anything committed

.PHONY: verify-generated
verify-generated:
	@echo "==> generated code is up to date"
	@hack/verify-generated.sh

.PHONY: verify-schema
verify-schema:
	@echo "==> the schema breaks no client of the released one"
	@go run ./hack/schema check

.PHONY: verify-words
verify-words:
	@echo "==> comments and pages use plain words"
	@go run ./hack/words

.PHONY: verify-format
verify-format:
	@echo "==> gofmt"
	@unformatted="$$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 -r ls -d 2>/dev/null | xargs -r gofmt -l)"; \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w on them):"; echo "$$unformatted"; exit 1; fi

.PHONY: verify-tidy
verify-tidy:
	@echo "==> go.mod is tidy"
	go mod tidy -diff

.PHONY: vulncheck
vulncheck: ## Known vulnerabilities that the programs call; needs the Go vulnerability database (GOVULNDB names a mirror)
	@echo "==> govulncheck"
	@go run ./hack/vulncheck

.PHONY: lint
lint: ## golangci-lint, at the version that tools/go.mod pins (the first run compiles it)
	@echo "==> golangci-lint"
	$(TOOL) golangci-lint run ./...

.PHONY: release-schema
release-schema: ## Promise clients the schema as it is; where that breaks them: REASON="why, and what they do instead"
	@go run ./hack/schema release --reason "$(REASON)"

##@ Help

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
