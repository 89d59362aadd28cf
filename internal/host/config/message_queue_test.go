package config_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	_ "github.com/taskerhq/tasker/embedded/rabbitmq"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/settings"
)

func TestRabbitmq(t *testing.T) {
	t.Parallel()
	cfg := load(t, config.Sources{File: write(t, `
message_queue:
  rabbitmq:
    url: amqp://ann:hunter2@broker/jobs
    queue_prefix: w.
    worker_queue_ttl_ms: 60000
    on_expiry: fail
    expiry_limit: 7
    dead_letter:
      enabled: false
`)})
	want := settings.Delivery{Offered: true, QueuePrefix: "w.", TTL: time.Minute, OnExpiry: settings.ExpiryFail,
		ExpiryLimit: 7, Capacity: 100}
	if cfg.Engine.Delivery != want {
		t.Errorf("the engine gets %+v, want %+v", cfg.Engine.Delivery, want)
	}
	if r := cfg.MessageQueue.Rabbitmq; r.DeadLetter.Enabled || r.Retention() != 24*time.Hour || r.QueueType != "classic" {
		t.Errorf("the section is %+v", r)
	}
	out, err := json.Marshal(cfg.Settings())
	if err != nil || strings.Contains(string(out), "hunter2") || !strings.Contains(string(out), "broker/jobs") {
		t.Errorf("printed: %s, %v", out, err)
	}
}

func TestRabbitmqProblems(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Sources{File: write(t, `
message_queue:
  rabbitmq:
    url: redis://ann:hunter2@broker
    queue_prefix: amq.w
    queue_type: quorums
    worker_queue_ttl_ms: 999
    on_expiry: again
    expiry_limit: -1
    prefetch: 10001
    dead_letter:
      exchange: amq.dlx
      queue: amq.w-dead
      ttl_ms: 59999
`)})
	var problem *tasker.Error
	if !errors.As(err, &problem) {
		t.Fatal(err)
	}
	text := ""
	for _, d := range problem.Details {
		text += d.Location + " " + d.Message + "\n"
	}
	for _, key := range []string{"url", "queue_prefix", "queue_type", "worker_queue_ttl_ms", "on_expiry", "expiry_limit",
		"prefetch", "dead_letter.exchange", "dead_letter.queue", "dead_letter.ttl_ms"} {
		if !strings.Contains(text, "message_queue.rabbitmq."+key+": ") {
			t.Errorf("nothing about %s", key)
		}
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "engine.delivery") {
		t.Errorf("the problems are %s", text)
	}
}
