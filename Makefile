GO ?= go
STATICCHECK ?= $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The engine of the simulated OS that a trial uses: native (linux/amd64), wasm, or auto for the better of those that can
# be had.
ENGINE ?= auto

# Packages whose transcripts and golden files `make rewrite` regenerates.
GOLDEN = $(sort $(dir $(shell grep -rlE --include='*_test.go' 'flag.Bool."rewrite"|transcript[.]Run' core netsim checker cmd)))

.PHONY: help build trial trials trial-wasm test test-clients test-report race hostile repeat bench lint generate rewrite ci crash-sweep crash-sweep-ci sweep-guest soak explore explore-ci

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The source hash goes into all three; a pair that differs is refused at run time. A Go release that the native engine
# does not know builds the other two.
build: ## bin/trialog, and the same source for the simulated OS: bin/trialog.guest and bin/trialog.wasm
	@set -e; mark='-X main.source=trialog-source:'$$($(GO) run ./checker/court/sourcehash .); \
	$(GO) build -trimpath -ldflags "$$mark" -o bin/trialog ./cmd/trialog; \
	$(GO) run ./netsim/guest/guestbuild -ldflags "$$mark" -o bin/trialog.wasm ./cmd/trialog; \
	rm -f bin/trialog.guest; \
	$(GO) run ./netsim/guest/guestbuild -engine native -ldflags "$$mark" -o bin/trialog.guest ./cmd/trialog || \
		echo "no bin/trialog.guest: the engine of the simulated OS will be wasm"; \
	echo "built bin/trialog and its guests"

trial: build ## put the broker on trial: a real process, the simulated OS, every safety rule switched off in turn
	bin/trialog trial --engine $(ENGINE)

trials: build ## the same; SEEDS=6 for fewer seeds of each cell, EXPERIMENTS='002 004' for some
	bin/trialog trial $(or $(EXPERIMENTS),$(wildcard experiments/0*)) --engine $(ENGINE) $(if $(SEEDS),--seeds $(SEEDS))

trial-wasm: build ## the same on the portable engine, with a tenth of the seeds of each cell
	bin/trialog trial --engine wasm --seeds 4

test: build ## every test of the module
	$(GO) test ./...
	$(GO) test -tags guest,noasm ./core/codec

sweep-guest: build ## the storage engine for the simulated OS, which `trialog sweep` crashes
	@$(GO) run ./netsim/guest/guestbuild -o bin/sweep.wasm ./checker/sweep/subject
	@rm -f bin/sweep.guest; $(GO) run ./netsim/guest/guestbuild -engine native -o bin/sweep.guest ./checker/sweep/subject || \
		echo "no bin/sweep.guest: the engine of the simulated OS will be wasm"

crash-sweep: sweep-guest ## crash the storage engine at every write, with every loss; then with each safety rule off
	bin/trialog sweep --engine $(ENGINE)
	bin/trialog sweep --engine $(ENGINE) --mutants

crash-sweep-ci: sweep-guest ## a short form of it
	bin/trialog sweep --engine $(ENGINE) --short
	bin/trialog sweep --engine $(ENGINE) --short --mutants --show 0

explore: build ## walk all states of the closed worlds: fills the tables in checker/worlds, can be interrupted; minutes
	bin/trialog explore table checker/worlds/bounds.txt --fill
	bin/trialog explore table checker/worlds/killers.txt --fill
	bin/trialog explore table checker/worlds/bounds.txt
	bin/trialog explore table checker/worlds/killers.txt

explore-ci: build ## a short form of it: the rows marked ci give what the tables say
	bin/trialog explore table checker/worlds/bounds.txt --ci
	bin/trialog explore table checker/worlds/killers.txt --ci

soak: build ## a broker works for 24 hours of virtual time, and holds on to nothing; FOR=1h for less
	bin/trialog soak --engine $(ENGINE) --work $(or $(FOR),24h)

test-clients: build ## foreign Kafka clients and Kafka's tools against the real process (a module of their own)
	experiments/clients/setup
	cd experiments/clients && TRIALOG_BIN=$(CURDIR)/bin/trialog $(GO) test -count=1 -p 1 ./...
	@cat experiments/clients/table/testdata/table.txt

test-report: ## reports in a headless Chromium (needs chromium); TRIALOG_REPORT_SHOTS=DIR keeps pictures of the pages
	$(GO) test -count=1 -tags browser ./checker/report

race: ## the native tests under the race detector (needs a C compiler)
	$(GO) test -race ./core/... ./netsim/... ./checker/...

hostile: ## a client that sends nonsense beside one that checks; FOR=1m is how long, ten minutes by default
	TRIALOG_HOSTILE_FOR=$(or $(FOR),10m) $(GO) test -count=1 -timeout 60m ./core/broker -run '^TestHostileClient$$' -v

repeat: ## native guests, 20 times each on machines that differ, with every Go release that is installed
	@mkdir -p bin
	$(GO) test -count=1 -timeout 60m ./netsim/native -run '^TestRepeat$$' -args -runs 20 -every-go -report $(CURDIR)/bin/repeat
	@cat bin/repeat.txt

bench: ## every benchmark, target and value printed; AGAINST=kafka: this broker beside a real Kafka (needs java and mvn)
ifeq ($(AGAINST),kafka)
	$(MAKE) build
	@test -e bin/kafka/.complete || { mvn -q -B -f experiments/clients/java/pom.xml dependency:copy-dependencies \
		-DoutputDirectory=$(CURDIR)/bin/kafka && touch bin/kafka/.complete; }
	bin/trialog bench compare --kafka-jars bin/kafka
	bin/trialog bench storage --kafka-jars bin/kafka
else
	$(GO) test -run '^$$' -bench . -benchmem ./...
endif

lint: ## gofmt, go vet (native and guest), staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'lint: the files above are not gofmt clean'; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags browser ./checker/report
	GOOS=wasip1 GOARCH=wasm $(GO) vet -tags guest ./core/... ./checker/history ./checker/workload ./checker/sweep/subject ./cmd/trialog
	GOOS=linux GOARCH=amd64 $(GO) vet -tags guest ./core/... ./checker/history ./checker/workload ./checker/sweep/subject ./cmd/trialog
	$(STATICCHECK) ./...

generate: ## what is generated from other files
	$(GO) generate ./...

rewrite: ## regenerate golden files and transcripts
	$(GO) test -short $(addprefix ./,$(GOLDEN)) -rewrite

ci: lint build trial trial-wasm crash-sweep-ci explore-ci race test-clients test-report generate rewrite test ## what .ci/run calls
	$(MAKE) hostile FOR=1m
	$(MAKE) soak FOR=1h
	$(MAKE) trials SEEDS=4 EXPERIMENTS='002 003 004'
	git diff --exit-code
