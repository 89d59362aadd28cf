# Targets for people and CI. "make" lists them.

GO       ?= go
# Inputs per fuzz target, or a duration. A count, because go test reports the end of a
# duration as a failure ("context deadline exceeded") if it comes at a bad moment.
FUZZTIME ?= 20000x
# More flags for go test, for example TESTFLAGS='-v -run TestModel'.
TESTFLAGS ?=

# Every target, and every program that a test builds, compiles a package in the same way: it is compiled once, whatever
# directory the tree is in.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) -trimpath)

# The linter is built by Go from the version named here: nothing to install,
# and the same findings everywhere. The first build takes some minutes.
LINTER  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Those who make releases and judge the chart of Kubernetes, built by Go as well. The first build of each takes minutes.
RELEASER := github.com/goreleaser/goreleaser/v2@v2.15.1
HELM     := helm.sh/helm/v3/cmd/helm@v3.22.0

# What "make mutate" changes.
PACKAGES ?= internal/model/cron internal/model/deadletter internal/model/failure internal/model/limit internal/model/task internal/model/template

# Every directory with a go.mod.
MODULES := $(dir $(wildcard go.mod */go.mod))

# Runs a command with the servers that tests need, and stops them after it.
WITH_SERVERS := $(GO) run ./internal/testkit/testenv
# RabbitMQ and Kafka need some eight seconds to start, so only targets whose tests use them wait for them. Nor is
# Chromium installed for a target that opens no page.
WITH_DATABASES := $(WITH_SERVERS) -without rabbitmq,kafka,chromium

# Tests of both modules in one run: inside proof/, ./... are the packages of proof, which take longest, and ../... those
# of the product.
TEST_BOTH := $(GO) -C proof test

# Packages tested at a time: one more than processors, because many tests wait for brokers, kills and time-outs.
AT_ONCE ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.DEFAULT_GOAL := help
.PHONY: help build test test-of race-of race-build check race lint models reference python typescript fuzz fuzz-api mutate chaos chaos-letters chaos-redis chaos-rabbitmq chaos-kafka bench bench-postgres bench-rabbitmq bench-peers soak walk demo screenshots bench-dashboard platforms sbom release-snapshot helm vulnerabilities fuzz-list clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build bin/tasker
	$(GO) build -o bin/tasker ./cmd/tasker

test: ## Run all tests, including crash tests, against servers that it starts
	$(WITH_SERVERS) $(TEST_BOTH) -p $(AT_ONCE) -timeout 20m $(TESTFLAGS) ./... ../...

# For .ci/run: RUN is a pattern of tests, OF the packages.
test-of:
	$(WITH_SERVERS) $(TEST_BOTH) -timeout 20m $(TESTFLAGS) -run '$(RUN)' $(OF)

check: ## Check formatting, vet, lint and test; run it before a commit
	@unformatted="$$(gofmt -l .)"; test -z "$$unformatted" || { echo "not formatted (gofmt -w):"; echo "$$unformatted"; exit 1; }
	@set -e; for module in $(MODULES); do $(GO) -C $$module vet ./...; done
	@$(MAKE) --no-print-directory lint test

# Not for the race detector: packages whose tests start programs or read the tree, one thing
# at a time. SQLite itself, in Go from C, is not instrumented: it is guarded by one lock, has its own tests, and would
# take half of the time.
NOT_RACED := checks/.*|cli|cli/(bench|demo|transfer)|host/doctor|store/migration|testkit/(browsertest|clienttest|kafkatest|process|rabbittest)
# Examples whose tests run their READMEs.
RUN_PAGES := intake|order|pipeline|priority-queue|report|thumbnails|webhooks
# Nothing can race in tests that send thousands of requests one after another, or compare what SQL and Go say of the
# same rows. Under the detector they take minutes.
ONE_BY_ONE := ^Test(HostileValues|HostileLetters|BadBodies|BadSubmissions|DetectionAgrees|ViewsAgree)$$
RACEFLAGS := -race -short -timeout 30m -gcflags=modernc.org/...=-race=false -skip '$(ONE_BY_ONE)'

RACED = $$($(GO) list ./... | grep -vE '/(internal/($(NOT_RACED))|examples/($(RUN_PAGES)))$$')

race: ## Run shortened tests with the race detector; needs a C compiler
	$(WITH_SERVERS) env CGO_ENABLED=1 $(GO) test -p $(AT_ONCE) $(RACEFLAGS) $(TESTFLAGS) $(RACED)

# For .ci/run: compiles what "make race" links and runs.
race-build:
	@CGO_ENABLED=1 $(GO) list -export -test -f '{{""}}' $(filter -race -gcflags=%,$(RACEFLAGS)) $(RACED)

race-of:
	$(WITH_SERVERS) env CGO_ENABLED=1 $(GO) test $(RACEFLAGS) $(TESTFLAGS) -run '$(RUN)' $(OF)

lint: ## Check go.mod and run golangci-lint in every module
	@set -e; for module in $(MODULES); do \
		echo "== $$module"; \
		(cd $$module && $(GO) mod tidy -diff && $(GO) run $(LINTER) run ./...); \
	done

platforms: ## Build for the systems and processors of releases
	@set -e; for on in $(or $(PLATFORMS),linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64); do \
		echo "== $$on"; \
		CGO_ENABLED=0 GOOS=$${on%/*} GOARCH=$${on#*/} $(GO) build -o /dev/null ./cmd/tasker; \
	done

sbom: build ## Write what bin/tasker consists of to bin/tasker.cdx.json, and compare it with the binary; needs Python
	.ci/sbom bin/tasker bin/tasker.cdx.json

release-snapshot: ## Build the archives of a release in dist/, with SBOMs, and publish nothing
	$(GO) run $(RELEASER) check --config deploy/goreleaser.yaml
	$(GO) run $(RELEASER) release --config deploy/goreleaser.yaml --snapshot --clean --skip=publish

# UPDATE=1 writes the golden file anew.
CHART := $(GO) run $(HELM)
helm: ## Lint the chart of Kubernetes, and compare what it renders with deploy/helm/testdata
	$(CHART) lint --strict deploy/helm/tasker --values deploy/helm/testdata/values.yaml
	@set -e; rendered=$$(mktemp); trap 'rm -f "$$rendered"' EXIT; golden=deploy/helm/testdata/rendered.yaml; \
	$(CHART) template prod deploy/helm/tasker --namespace work --kube-version 1.31.0 --values deploy/helm/testdata/values.yaml > "$$rendered" && \
	if test -n '$(UPDATE)'; then cp "$$rendered" "$$golden"; else diff -u "$$golden" "$$rendered"; fi

vulnerabilities: ## Look up known vulnerabilities of dependencies; needs the network, GOVULNDB names another database
	.ci/vulnerabilities

models: ## Write the OpenAPI document and the types and operations of clients in other languages anew
	$(GO) test -count=1 ./internal/api/httpapi -run OpenAPI -update

reference: ## Write the generated parts of docs/reference anew
	$(GO) test -count=1 ./internal/cli ./internal/host/config ./internal/api/httpapi ./internal/model/template -run Reference -update

python: ## Check the Python client: types, style, unit tests, doctests, package; needs Python
	clients/python/check

typescript: ## Check the TypeScript client: types, style, unit tests, package; needs Node.js and npm
	clients/typescript/check

fuzz: ## Fuzz every target with FUZZTIME (20000x) inputs each
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "== $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$package; \
		done; \
	done

fuzz-list: ## List the fuzz targets
	@.ci/fuzz-list

# SECONDS_EACH=600 for longer, SEED=N repeats the choices of a run, STORES=sqlite for one store.
fuzz-api: ## Fuzz the HTTP API with schemathesis, on SQLite and on PostgreSQL; needs Python
	$(WITH_DATABASES) .ci/fuzz-api

# Mutants of the packages that are pure; PACKAGES=internal/model/failure for one of them. It takes a
# second or three for each of 800 mutants.
mutate: ## Change the operators of the pure packages one by one, and see that their tests notice
	nice -n 10 $(GO) run ./internal/checks/mutation $(PACKAGES)

# Runs of chaos-letters: in "make chaos", with Redis, with RabbitMQ, and with Kafka.
SHORT_RUNS := list-sqlite,consumer,rabbitmq-sqlite,dispatch-postgres,kafka-postgres
REDIS_RUNS := list-sqlite,stream-postgres,consumer,list-postgres,stream-sqlite,flush-list,flush-stream,flush-consumer
REDIS_RUNS := $(REDIS_RUNS),failover-list,failover-stream,failover-consumer
RABBITMQ_RUNS := rabbitmq-sqlite,rabbitmq-postgres,rabbitmq-quorum-sqlite,rabbitmq-quorum-postgres
RABBITMQ_RUNS := $(RABBITMQ_RUNS),dispatch-sqlite,dispatch-postgres
KAFKA_RUNS := kafka-sqlite,kafka-postgres

# CHAOSFLAGS='-minutes 30 -kills 500' for longer, '-seed N' repeats the choices of a run.
chaos: build ## Kill nodes, crash PostgreSQL and break the network under load, with and without Redis
	@$(GO) -C proof build -o ../bin/ ./chaos && $(GO) -C proof build -o ../bin/chaos-letters ./chaos/letters
	@bin/chaos-letters -node bin/tasker -kills 2 -only $(SHORT_RUNS) -at-once 2 > bin/chaos-letters.log 2>&1 & \
	letters=$$!; cd proof; status=0; \
	../bin/chaos $(CHAOSFLAGS) && ../bin/chaos -redis $(CHAOSFLAGS) && ../bin/chaos -failover $(CHAOSFLAGS) || status=1; \
	wait $$letters || status=1; cat ../bin/chaos-letters.log; exit $$status

# KILLS=1000 for longer, CRASH_SEED=N repeats the choices of a run. 100 kills on each database take half an hour on two
# slow cores, most of it waiting until another node takes over.
KILLS ?= 100
chaos-letters: ## Kill nodes at every stage of the capture and the redrive of dead letters
	$(WITH_SERVERS) -without chromium env CRASH_KILLS=$(KILLS) $(GO) -C proof test -count=1 -v -timeout 5h -run TestKillLetters ./crashtest/letters

# KILLS=100 for longer, LETTERSFLAGS='-seed N' repeats the choices of a run, '-only consumer' takes one of eleven. 25
# kills in each take a quarter of an hour on two slow cores.
chaos-redis: KILLS = 25
chaos-redis: build ## Kill nodes, applications and Redis, empty it, cut it off and replace it, under letters and jobs
	@$(GO) -C proof build -o ../bin/chaos-letters ./chaos/letters
	bin/chaos-letters -node bin/tasker -kills $(KILLS) -only $(REDIS_RUNS) $(LETTERSFLAGS)

# KILLS is for each of six runs; two go on at a time. LETTERSFLAGS='-only dispatch-postgres' takes one of them.
chaos-rabbitmq: KILLS = 34
chaos-rabbitmq: build ## Kill nodes, workers and RabbitMQ, freeze them and cut them off, under letters and dispatch
	@$(GO) -C proof build -o ../bin/chaos-letters ./chaos/letters
	bin/chaos-letters -node bin/tasker -kills $(KILLS) -only $(RABBITMQ_RUNS) $(LETTERSFLAGS)

# KILLS is for each of two runs, which go on at the same time. 100 kills in each take a quarter of an hour on two slow
# cores.
chaos-kafka: KILLS = 100
chaos-kafka: build ## Kill nodes and Kafka, freeze them and cut them off, under letters
	@$(GO) -C proof build -o ../bin/chaos-letters ./chaos/letters
	bin/chaos-letters -node bin/tasker -kills $(KILLS) -only $(KAFKA_RUNS) $(LETTERSFLAGS)

bench: build ## Run the benchmarks of docs/concepts/benchmarks.md
	bin/tasker bench --tasks 40000 --workers 1000 --producers 16
	bin/tasker bench --tasks 100000 --workers 1000 --producers 256
	bin/tasker bench --via http --tasks 20000 --producers 16
	bin/tasker bench --via http --tasks 40000 --producers 256 --workers 256
	bin/tasker bench --mode latency
	bin/tasker bench --mode letters
	bin/tasker bench --mode intake --tasks 100000
	bin/tasker bench --mode letters --letters 1000000
	cd proof && $(GO) run ./bench/experiments -mode depth
	cd proof && $(GO) run ./bench/experiments -mode cases
	cd proof && $(GO) run ./bench/experiments -mode workers
	cd proof && $(GO) run ./bench/experiments -mode workers -via http
	cd proof && $(GO) run ./bench/experiments -mode cost -producers 256

bench-postgres: build ## Run the benchmarks on PostgreSQL, DB=postgres://...
	@test -n '$(DB)' || { echo "name a PostgreSQL: make bench-postgres DB=postgres://..."; exit 2; }
	bin/tasker bench --db "$(DB)" --tasks 40000 --workers 1000 --producers 16
	bin/tasker bench --db "$(DB)" --tasks 100000 --workers 1000 --producers 256
	bin/tasker bench --db "$(DB)" --mode latency
	bin/tasker bench --db "$(DB)" --mode letters --letters 1000000
	bin/tasker bench --db "$(DB)" --via http --nodes 1 --tasks 100000 --workers 300 --producers 256
	bin/tasker bench --db "$(DB)" --via http --nodes 3 --tasks 100000 --workers 300 --producers 256
	cd proof && $(GO) run ./bench/experiments -db "$(DB)" -mode pinned
	cd proof && $(GO) run ./bench/experiments -db "$(DB)" -mode depth -finished 10000000
	cd proof && $(GO) run ./bench/experiments -db "$(DB)" -mode cases
	cd proof && $(GO) run ./bench/experiments -db "$(DB)" -mode workers
	cd proof && $(GO) run ./bench/experiments -db "$(DB)" -mode cost -producers 256

bench-rabbitmq: build ## Run the benchmarks of dispatch, DB=postgres://... RABBITMQ=amqp://...
	@test -n '$(DB)' -a -n '$(RABBITMQ)' || { \
		echo "name both: make bench-rabbitmq DB=postgres://... RABBITMQ=amqp://..."; exit 2; }
	bin/tasker bench --db "$(DB)" --via http --transport "$(RABBITMQ)" --producers 256 --workers 500 --tasks 20000
	bin/tasker bench --db "$(DB)" --via http --transport "$(RABBITMQ)" --mode latency

# DB=postgres://... names the server, in which schemas are made and dropped; without
# it one is started. PEERSFLAGS='--rounds 5 --json'; -h lists them.
bench-peers: ## Compare River, Asynq, a bare table and Tasker on one PostgreSQL, one Redis and SQLite
	@cd proof && DB='$(DB)' $(GO) run ./bench $(PEERSFLAGS)
	@cd proof && DB='$(DB)' $(GO) run ./bench -peers asynq,tasker-redis -tasks 20000 $(PEERSFLAGS)
	@cd proof && DB='$(DB)' $(GO) run ./bench -peers bare,tasker $(PEERSFLAGS)
	@cd proof && DB='$(DB)' $(GO) run ./bench -peers bare-sqlite,tasker-sqlite $(PEERSFLAGS)

# MINUTES=60 RATE=1000 for longer; DB=postgres://... names the server, else one is started. SOAKFLAGS='--unattended'.
MINUTES ?= 30
RATE ?= 500
SOAK := $(CURDIR)/bin/tasker bench --mode soak --minutes $(MINUTES) --rate $(RATE) $(SOAKFLAGS)
soak: build ## Keep a steady load up on SQLite and on PostgreSQL, and see that nothing grows
	$(SOAK)
	@if test -n '$(DB)'; then $(SOAK) --db '$(DB)'; else \
		$(WITH_SERVERS) -without redis,rabbitmq,kafka,chromium sh -c '$(SOAK) --db "$$TASKER_TEST_POSTGRES"'; fi

walk: ## Walk the way of a new user through a fresh clone, with times; needs port 8080
	.ci/walk

demo: ## Run 10,000 real, dirty records through a workflow
	$(GO) run ./cmd/tasker demo

bench-dashboard: ## Measure the pages of the dashboard with a million tasks and a million letters
	$(GO) test -run '^$$' -bench Pages -benchtime 20x ./internal/dashboard -objects 1000000 -timeout 1h
	$(WITH_SERVERS) -without redis,rabbitmq,kafka $(GO) test -run '^$$' -bench Pages -benchtime 20x ./internal/dashboard \
		-objects 1000000 -postgres -timeout 1h

screenshots: ## Take the pictures of docs/guides/dashboard.md from the demos
	$(WITH_SERVERS) -without postgres,redis,rabbitmq,kafka $(GO) test -count=1 -run TestScreenshots ./internal/dashboard \
		-screenshots $(CURDIR)/docs/img

clean: ## Remove the files that the other targets created
	rm -rf bin dist coverage.out
