package linktest_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/host/node"
)

func source(driver string) string {
	return "sources:\n- {name: letters, driver: " + driver + ", url: 'a://b', queue: q}\n"
}

// A missing driver is a problem of the configuration, at its line, which names the import.
func TestMissingDrivers(t *testing.T) {
	t.Parallel()
	const program = "this program does not link the driver "
	for _, c := range []struct{ config, want string }{
		{source("kafka"), `sources[0].driver: ` + program + `kafka: add import _ "$kafka"`},
		{source("rabbitmq"), `sources[0].driver: ` + program + `rabbitmq: add import _ "$rabbitmq"`},
		{source("redis-list"), `sources[0].driver: ` + program + `redis-list: add import _ "$redis"`},
		{source("redis-stream"), `sources[0].driver: ` + program + `redis-stream: add import _ "$redis"`},
		{"dispatch: redis://b:2", `Options.Config:1:1: dispatch: ` + program + `redis: add import _ "$redis"`},
		{"message_queue: {rabbitmq: {url: 'amqp://b'}}",
			`message_queue.rabbitmq.url: ` + program + `rabbitmq: add import _ "$rabbitmq"`},
		{"blobs: {url: 's3://b', access_key_id: a, secret_access_key: b}",
			`blobs.url: ` + program + `s3: add import _ "$s3"`},
	} {
		_, err := embedded.Open(t.Context(), "memory:", &embedded.Options{Config: c.config})
		want := strings.ReplaceAll(c.want, "$", "github.com/taskerhq/tasker/embedded/")
		if tasker.ErrorCode(err) != tasker.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", c.config, err, want)
		}
	}
}

// The options and the DSN are no text of the configuration; opening refuses them.
func TestMissingDriversOfOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dsn, dispatch, want string }{
		{"memory:", "redis://b:2", `the driver redis: add import _ "github.com/taskerhq/tasker/embedded/redis"`},
		{"postgres://b/a", "", `the driver postgres: add import _ "github.com/taskerhq/tasker/embedded/postgres"`},
	} {
		_, err := embedded.Open(t.Context(), c.dsn, &embedded.Options{Dispatch: c.dispatch})
		if tasker.ErrorCode(err) != tasker.CodeInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}

// An unknown driver is none that an import would add.
func TestUnknownDriver(t *testing.T) {
	t.Parallel()
	_, err := embedded.Open(t.Context(), "memory:", &embedded.Options{Config: source("pulsar")})
	if err == nil || strings.Contains(err.Error(), "import") || !strings.Contains(err.Error(), "http") {
		t.Error(err)
	}
}

// A database may have sources that other programs read: it opens, and says of them that the driver is missing.
func TestSourceOfAnotherProgram(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "tasker.db")
	other, err := node.Open(t.Context(), dsn, node.Options{Drivers: driver.Registry{"kafka": memory.New(nil).Open}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = deadletters.Of(tasker.NewClient(other)).SaveSource(t.Context(), deadletters.SourceRequest{
		Source: deadletters.Source{Name: "events", Driver: "kafka", URL: "kafka://localhost", Queue: "dead"}})
	if err := errors.Join(err, other.Close()); err != nil {
		t.Fatal(err)
	}
	client, err := embedded.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s, err := deadletters.Of(client).TestSource(t.Context(), "", "events")
	if err != nil || s.State != "lost" || !strings.Contains(s.Error, `no driver "kafka"`) {
		t.Errorf("%+v %v", s, err)
	}
	_, err = deadletters.Of(client).SaveSource(t.Context(), deadletters.SourceRequest{
		Source: deadletters.Source{Name: "more", Driver: "kafka", URL: "kafka://localhost", Queue: "dead"}})
	if tasker.ErrorCode(err) != tasker.CodeInvalid || !strings.Contains(err.Error(), `embedded/kafka"`) {
		t.Error("a source without its driver was saved:", err)
	}
}
