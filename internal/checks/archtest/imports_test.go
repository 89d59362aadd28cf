package archtest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestOneDoorToTheStores: one package connects an engine to its store and one puts an API before it. Other users of a
// store maintain databases. internal/cli/manual describes the API, without an engine.
func TestOneDoorToTheStores(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := p.short()
		stores, serves := 0, false
		for _, path := range p.Imports {
			switch short(path) {
			case "internal/testkit/memstore", "internal/store/postgres", "internal/store/sqlite":
				stores++
			case "internal/api/httpapi":
				serves = true
			}
		}
		if serves && name != "internal/host/app" && name != "internal/cli/manual" {
			t.Errorf("%s imports internal/api/httpapi: only internal/host/app puts an API before an engine", name)
		}
		if serves && stores > 0 || slices.Contains(p.Imports, module+"/internal/api/local") && name != "internal/host/node" {
			t.Errorf("%s wires an engine: internal/host/node does", name)
		}
	}
}

// verbs are the packages below internal/api/httpapi that families of routes share; every other one is a family.
var verbs = []string{"internal/api/httpapi/endpoint", "internal/api/httpapi/masking", "internal/api/httpapi/stepworker",
	"internal/api/httpapi/taskworker"}

// TestFamiliesOfRoutes: only internal/api/httpapi imports the families, so each can be changed and deleted alone.
func TestFamiliesOfRoutes(t *testing.T) {
	t.Parallel()
	families := 0
	for _, p := range packages(t) {
		name := p.short()
		if strings.HasPrefix(name, "internal/api/httpapi/") && !slices.Contains(verbs, name) {
			families++
		}
		for _, path := range p.Imports {
			other := short(path)
			if strings.HasPrefix(other, "internal/api/httpapi/") && !slices.Contains(verbs, other) &&
				name != "internal/api/httpapi" {
				t.Errorf("%s imports %s: only internal/api/httpapi puts families of routes together", name, other)
			}
		}
	}
	if families < 2 {
		t.Errorf("there are %d families of routes below internal/api/httpapi; the rule is not read as it should be", families)
	}
}

// homes says which packages may import a module that is not ours. A dependency with one home can be replaced there.
// Packages of proof may import what the product requires: they look at its databases and brokers by themselves.
var homes = map[string][]string{
	"github.com/chromedp/": {"internal/testkit/browsertest"},
	"github.com/danielgtaylor/huma/v2": {"internal/api/httpapi", "internal/api/httpapi/endpoint",
		"internal/api/httpapi/inbox",
		"internal/api/httpapi/stepworker", "internal/api/httpapi/taskworker", "internal/api/httpapi/workers",
		"internal/api/strictjson"},
	"github.com/aws/aws-sdk-go-v2":    {"internal/store/blobstore/s3"},
	"github.com/Shopify/toxiproxy/v2": {"proof/chaos/internal/cluster"},
	"github.com/expr-lang/expr":       {"internal/model/expr", "internal/model/rule"},
	"github.com/goccy/go-yaml":        {"internal/kit/document"},
	"github.com/google/go-cmp":        {"internal/testkit/dispatchtest", "internal/testkit/storetest"},
	"github.com/google/uuid": {".", "examples/order", "flow", "internal/api/httpapi/flowcontrol", "waits",
		"internal/api/httpapi/waiting", "deadletters",
		"internal/cli/bench", "internal/cli", "internal/dashboard/audit", "internal/dashboard/inbox",
		"internal/dashboard/page", "internal/dashboard/redrives", "internal/dashboard/tasks",
		"internal/cli/demo",
		"internal/api/dlqapi", "internal/api/executionapi", "internal/api/httpapi",
		"internal/api/httpapi/dlq", "internal/api/httpapi/executions",
		"internal/api/httpapi/endpoint", "internal/api/httpapi/inbox", "internal/api/httpapi/masking",
		"internal/api/httpapi/queue", "internal/api/httpapi/stepworker", "internal/api/httpapi/taskworker",
		"internal/api/httpapi/workers",
		"internal/api/news", "internal/api/letters", "internal/api/local", "internal/api/scheduling", "schedules",
		"internal/host/node", "internal/kit/query", "internal/api/queueapi", "internal/cli/script",
		"internal/api/strictjson",
		"operate", "rabbitmq", "remote", "tasktest", "worker", "worker/protocol"},
	"github.com/hibiken/asynq": {"proof/bench/asynq"},
	// embedded/postgres: SubmitTx is given a transaction of pgx
	"github.com/jackc/pgx/v5": {"embedded/postgres", "internal/cli/bench", "internal/host/doctor",
		"internal/testkit/pgtest", "internal/testkit/postgrestest", "internal/store/postgres", "internal/cli/transfer"},
	"github.com/netresearch/go-cron": {"internal/model/cron"},
	"github.com/pressly/goose/v3":    {"internal/store/migration"},
	"github.com/prometheus/":         {"internal/host/telemetry"},
	"github.com/rabbitmq/amqp091-go": {"internal/broker/amqp", "internal/broker/rabbitmq",
		"internal/broker/dispatch/rabbitmq", "rabbitmq"},
	"github.com/redis/rueidis": {"internal/cli/bench", "internal/broker/redis", "internal/broker/dispatch/redis",
		"internal/broker/redislist", "internal/broker/redisurl", "redisqueue"},
	"github.com/riverqueue/river":            {"proof/bench/river"},
	"github.com/rs/zerolog":                  {"proof/chaos/internal/cluster"},
	"github.com/santhosh-tekuri/jsonschema/": {"internal/model/template"},
	"github.com/yuin/goldmark":               {"internal/cli/manual"},
	"github.com/spf13/cobra":                 {"internal/cli"},
	"github.com/spf13/pflag":                 {"internal/cli"},
	"github.com/twmb/franz-go/": {"internal/cli/bench", "internal/broker/kafka", "internal/testkit/kafkatest",
		"internal/broker/kafkaurl",
		"kafka", "examples/intake"},
	"go.opentelemetry.io/":       {"internal/host/telemetry"},
	"go.uber.org/goleak":         {"internal/testkit/brokertest"},
	"golang.org/x/sync":          {"internal/cli/bench", "internal/cli/demo", "internal/host/upkeep"},
	"golang.org/x/term":          {"internal/cli"},
	"golang.org/x/text":          {"internal/model/template", "internal/cli/terminal"},
	"google.golang.org/protobuf": {"internal/broker/format", "internal/host/telemetry"},
	"modernc.org/sqlite":         {"internal/store/sqlite"},
	"pgregory.net/rapid":         {"internal/testkit/dispatchtest"},
}

func TestDependenciesHaveHomes(t *testing.T) {
	t.Parallel()
	products := requirements(t, ".")
	for _, p := range packages(t) {
		for _, path := range p.Imports {
			known := within("proof", p.short()) && owner(products, path) != ""
			if standard(path) || inModule(path) || known {
				continue
			}
			at := slices.Sorted(maps.Keys(homes))
			i := slices.IndexFunc(at, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
			if i < 0 {
				t.Errorf("%s imports %s, which has no home: the default answer to a new dependency is no", p.short(), path)
			} else if !slices.Contains(homes[at[i]], p.short()) {
				t.Errorf("%s imports %s, whose home is %v: ask that package instead", p.short(), path, homes[at[i]])
			}
		}
	}
}
