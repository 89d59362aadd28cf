package archtest_test

import (
	"slices"
	"strings"
	"testing"
)

// light is all that a worker binary gets with the public packages.
var light = []string{"github.com/google/uuid", module + "/deadletters/model", module + "/worker/protocol",
	module + "/internal/kit/chain",
	module + "/internal/kit/backoff", module + "/internal/kit/envelope", module + "/internal/kit/pointer",
	module + "/internal/kit/query", module + "/internal/kit/sensitive"}

// lightWorker is all that it gets besides, with a package for workers.
var lightWorker = append([]string{module + "/worker", module + "/internal/kit/vitals",
	module + "/internal/api/wire"}, light...)

func TestPublicPackagesAreLight(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".", "deadletters", "flow", "operate", "remote", "schedules", "tasktest", "waits",
		"worker"} {
		public, light := find(t, name), light
		switch name {
		case "remote":
			light = append([]string{light[0], module + "/internal/api/wire"}, light...)
		case "tasktest", "worker":
			light = append([]string{light[0]}, lightWorker...)
		}
		if !slices.Contains(public.Deps, light[0]) {
			t.Errorf("%s does not use %s any more: change the rule", name, light[0])
		}
		for _, path := range public.Deps {
			if !standard(path) && !slices.Contains(light, path) && path != module {
				t.Errorf("%s brings %s along: every worker binary would carry it", name, path)
			}
		}
	}
}

// consumerLight is all that an application gets with each package for consumers: a client of its broker, and no SQL.
var consumerLight = map[string][]string{
	"redisqueue": {"github.com/redis/rueidis", "golang.org/x/sys", module + "/internal/model/attempt",
		module + "/internal/kit/clock", module + "/internal/kit/coalesce", module + "/internal/model/failure",
		module + "/internal/broker/redislist", module + "/internal/kit/spool"},
	"kafka": {"github.com/twmb/franz-go", "github.com/klauspost/compress", "github.com/pierrec/lz4/v4",
		"golang.org/x/crypto", "golang.org/x/sys", module + "/internal/model/attempt", module + "/internal/kit/clock",
		module + "/internal/kit/coalesce", module + "/internal/model/failure", module + "/internal/kit/spool"},
}

func TestConsumersAreLight(t *testing.T) {
	t.Parallel()
	for name, may := range consumerLight {
		for _, path := range find(t, name).Deps {
			light := func(prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }
			if path == "database/sql" || !standard(path) && !slices.ContainsFunc(may, light) {
				t.Errorf("%s brings %s along: every application would carry it", name, path)
			}
		}
		if !slices.ContainsFunc(find(t, name).Deps, func(path string) bool { return strings.HasPrefix(path, may[0]) }) {
			t.Errorf("%s does not use %s any more: change the rule", name, may[0])
		}
	}
}

// drivers are the client libraries that an import links into a program with the embedded engine, by its package.
var drivers = map[string][]string{
	"embedded/kafka":    {"github.com/twmb/franz-go", "github.com/pierrec/lz4", "github.com/klauspost/compress"},
	"embedded/postgres": {"github.com/jackc/pgx/v5"},
	"embedded/rabbitmq": {"github.com/rabbitmq/amqp091-go"},
	"embedded/redis":    {"github.com/redis/rueidis"},
	"embedded/s3":       {"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
}

// TestEmbeddedLinksNoDrivers: an application with the embedded engine carries the drivers that it imports; a server
// carries them all.
func TestEmbeddedLinksNoDrivers(t *testing.T) {
	t.Parallel()
	has := func(name, library string) bool {
		return slices.ContainsFunc(find(t, name).Deps, func(path string) bool {
			return path == library || strings.HasPrefix(path, library+"/")
		})
	}
	if len(find(t, "embedded").Deps) == 0 {
		t.Fatal("embedded has no dependencies; the rule would hold of nothing")
	}
	for name, libraries := range drivers {
		for _, library := range libraries {
			if has("embedded", library) {
				t.Errorf("embedded brings %s along: %s links it", library, name)
			}
			if !has(name, library) || !has("cmd/tasker", library) {
				t.Errorf("%s, or the server, does not link %s any more: change the rule", name, library)
			}
		}
		for other, theirs := range drivers {
			if other != name && has(name, theirs[0]) {
				t.Errorf("%s brings %s along: %s links it", name, theirs[0], other)
			}
		}
	}
}

// TestRabbitMQIsLight: a worker that gets its steps over RabbitMQ carries its client, and no more than another worker.
func TestRabbitMQIsLight(t *testing.T) {
	t.Parallel()
	worker := find(t, "worker").Deps
	for _, path := range find(t, "rabbitmq").Deps {
		if path == module || path == module+"/worker" || standard(path) || slices.Contains(worker, path) {
			continue
		}
		if path != module+"/internal/broker/amqp" && path != module+"/internal/broker/brokerurl" &&
			path != "github.com/rabbitmq/amqp091-go" && !strings.HasPrefix(path, "github.com/rabbitmq/amqp091-go/") {
			t.Errorf("rabbitmq brings %s along: every worker would carry it", path)
		}
	}
}
