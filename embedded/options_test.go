package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	_ "github.com/taskerhq/tasker/embedded/rabbitmq"
	_ "github.com/taskerhq/tasker/embedded/redis"
	"github.com/taskerhq/tasker/internal/host/config"
)

// taken are the keys that nodeOptions uses outside of the engine's section, which it takes as a whole.
var taken = []string{"db.migrate", "db.pool_size", "dispatch", "sources", "webhooks", "dlq.max_retry_attempts",
	"dlq.retry_delay_hours", "dlq.max_age_days", "dlq.batch_size"}

// TestEveryKeyIsDecided: Options.Config takes a new key, or refuses it with a reason.
func TestEveryKeyIsDecided(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	used := map[string]bool{}
	for _, s := range cfg.Settings() {
		ours := strings.HasPrefix(s.Key, "engine.") || strings.HasPrefix(s.Key, "encryption.") ||
			strings.HasPrefix(s.Key, "blobs.") ||
			strings.HasPrefix(s.Key, "message_queue.rabbitmq.") ||
			slices.Contains(taken, s.Key)
		reason := serverKey(s.Key)
		if ours == (reason != "") {
			t.Errorf("key %s: either nodeOptions uses it (%v), or serverKeys says why not (%q)", s.Key, ours, reason)
		}
		for _, k := range serverKeys {
			used[k.key] = used[k.key] || s.Key == k.key || strings.HasPrefix(s.Key, k.key)
		}
	}
	for key, reason := range ServerKeys() {
		if !used[key] || reason == "" {
			t.Errorf("serverKeys has %s, which is no key of the configuration, or without a reason", key)
		}
	}
}

func TestConfigTakesEffect(t *testing.T) {
	t.Parallel()
	client, err := Open(t.Context(), "memory:", &Options{
		Config: "engine:\n  limits: {payload_bytes: 1024, batch_items: 2}\n"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	long := tasker.NewHandlerTask("h", strings.Repeat("x", 2000))
	if _, err := client.Submit(t.Context(), long); err == nil {
		t.Error("a context above the configured limit was taken")
	}
	short := tasker.NewHandlerTask("h", 1)
	if _, err := client.SubmitTasks(t.Context(), tasker.SubmitRequest{
		Tasks: []tasker.TaskRequest{short, short, short}}); tasker.ErrorCode(err) != tasker.CodeTooLarge {
		t.Errorf("a batch above the configured limit: %v", err)
	}
	opts, err := (&Options{Dispatch: "redis://a:1", Config: "dispatch: redis://b:2\ndb: {pool_size: 3}\n" +
		"message_queue: {rabbitmq: {url: 'amqp://localhost', prefetch: 7}}"}).nodeOptions()
	if err != nil || opts.Dispatch != "redis://a:1" || opts.PoolSize != 3 || opts.RabbitMQ.Prefetch != 7 {
		t.Errorf("options %+v, %v", opts, err)
	}
	opts, err = (&Options{Config: "dispatch: redis://b:2"}).nodeOptions()
	if err != nil || opts.Dispatch != "redis://b:2" {
		t.Errorf("dispatch %q, %v", opts.Dispatch, err)
	}
}

func TestConfigRefused(t *testing.T) {
	t.Setenv("TASKER_ENGINE_LIMITS_PAYLOAD_BYTES", "nonsense") // the environment is not read
	for text, want := range map[string]string{
		"engine: {limits: {payload_bytes: many}}":     "Options.Config:1:",
		"engine: {limit: {payload_bytes: 1}}":         "limit",
		"server:\n  listen: 0.0.0.0:80\nkeys: []":     "Options.Config:2:",
		"log: {level: debug}":                         "Options.Logger",
		"db: tasker.db":                               "argument of Open",
		"dispatch: [":                                 "Options.Config:1:",
		"engine: {leases: {start_timeout: -3s}}":      "start_timeout",
		"dlq: {api_key_parameter: true}":              "HTTP server",
		"telemetry: {otlp_endpoint: 'http://x:4318'}": "spans",
	} {
		_, err := Open(t.Context(), "memory:", &Options{Config: text})
		if tasker.ErrorCode(err) != tasker.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want CodeInvalid with %q", text, err, want)
		}
	}
}

// Any setting of a server's configuration file, for an engine in process.
func ExampleOptions() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	client, err := Open(ctx, "memory:", &Options{Config: `
engine:
  limits: {batch_items: 2}
  retention: {finished: 24h}
`})
	if err != nil {
		fmt.Println(err)
		return
	}
	many := make([]tasker.TaskRequest, 3)
	for i := range many {
		many[i] = tasker.NewHandlerTask("greet", i)
	}
	_, err = client.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: many})
	fmt.Println(tasker.ErrorCode(err), errors.Join(client.Close()))
	// Output: too_large <nil>
}
