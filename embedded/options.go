package embedded

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/blob"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/store/migration"
)

// Options configures Open. Zero fields take defaults.
type Options struct {
	// Logger receives messages of the background loops; by default none.
	Logger *slog.Logger
	// Dispatch is the URL of a Redis, redis://HOST:PORT, that dispatches ready steps; it needs the import of
	// embedded/redis. The database remains the source of truth, and dispatches while Redis is unavailable. The
	// default is Config's, or no Redis. All nodes of a database that have workers must use the same Redis, otherwise
	// none uses it.
	Dispatch string
	// Blobs keeps results above engine.limits.payload_bytes, instead of the store at blobs.url of Config. Without
	// either such results are refused.
	Blobs blob.Store
	// Config is YAML with the keys of a server's configuration file, such as "engine: {poll_interval: 200ms}":
	// limits, retention, scheduling, back-pressure, sources of dead letters, webhooks and all else in
	// docs/reference/configuration.md, with the same defaults and checks. JSON is YAML. Neither a file nor the
	// environment is read.
	//
	// ServerKeys lists refused keys. All nodes of a database should have the same settings.
	Config string
}

// serverKeys are refused in Config, with the reason; a trailing dot names a section. A test finds undecided keys.
var serverKeys = []struct{ key, reason string }{
	{"db.dsn", "it is the argument of Open"},
	{"server.", "there is no HTTP server"},
	{"keys", "a program needs no key for its own engine"},
	{"dlq.api_key_enabled", "there is no HTTP server"},
	{"dlq.api_key_parameter", "there is no HTTP server"},
	{"dlq.max_requeue_iterations", "it bounds a request of /api/dlq"},
	{"log.", "the messages go to Options.Logger"},
	{"telemetry.", "there are neither metrics nor spans in process"},
}

// ServerKeys returns the keys of a server's configuration that Options.Config refuses, with the reason in a
// sentence; a trailing dot names a section.
func ServerKeys() map[string]string {
	out := make(map[string]string, len(serverKeys))
	for _, k := range serverKeys {
		out[k.key] = k.reason
	}
	return out
}

func serverKey(key string) string {
	i := slices.IndexFunc(serverKeys, func(k struct{ key, reason string }) bool {
		return key == k.key || strings.HasSuffix(k.key, ".") && strings.HasPrefix(key, k.key)
	})
	if i < 0 {
		return ""
	}
	return serverKeys[i].reason
}

// CodeInvalid lists every problem of Config with its line and column.
func (o *Options) nodeOptions() (node.Options, error) {
	cfg, err := config.Load(config.Sources{Text: o.Config, TextName: "Options.Config"})
	if err != nil {
		return node.Options{}, err
	}
	var refused []tasker.Detail
	for _, s := range cfg.Settings() {
		if reason := serverKey(s.Key); reason != "" && s.Source != "default" {
			refused = append(refused, tasker.Detail{Location: strings.TrimPrefix(s.Source, "file "),
				Message: fmt.Sprintf("%s is for a server: %s", s.Key, reason)})
		}
	}
	if len(refused) > 0 {
		return node.Options{}, &tasker.Error{Code: tasker.CodeInvalid,
			Message: "the configuration has keys that an engine in process does not have", Details: refused}
	}
	dispatch := cfg.Dispatch
	if o.Dispatch != "" {
		dispatch = o.Dispatch
	}
	ring, err := cfg.Encryption.Ring()
	if err != nil {
		return node.Options{}, &tasker.Error{Code: tasker.CodeInvalid, Message: err.Error()}
	}
	blobs := o.Blobs
	if blobs == nil {
		if blobs, err = cfg.Blobs.Open(); err != nil {
			return node.Options{}, &tasker.Error{Code: tasker.CodeInvalid, Message: err.Error()}
		}
	}
	return node.Options{Logger: o.Logger, Blobs: blobs, Engine: cfg.Engine, Dispatch: dispatch,
		Migrate: migration.Mode(cfg.DB.Migrate), PoolSize: cfg.DB.PoolSize, Webhooks: cfg.Endpoints(),
		RabbitMQ: rabbit(&cfg.MessageQueue.Rabbitmq), Sources: cfg.DeadLetterSources(), Policies: cfg.DeadLetterPolicies(),
		Encryption:    node.Encryption{Ring: ring, Reload: cfg.Encryption.Ring, Lost: cfg.Encryption.LostKeys},
		DefaultPolicy: cfg.DefaultPolicy(), ReadBatch: cfg.DLQ.BatchSize}, nil
}

func rabbit(r *config.Rabbitmq) node.RabbitMQ {
	return node.RabbitMQ{URL: r.URL, Prefetch: r.Prefetch, Topology: node.Topology{
		Quorum: r.QueueType == "quorum", TTL: r.WorkerQueueTTL(), DeadLetters: r.DeadLetter.Enabled,
		Exchange: r.DeadLetter.Exchange, DeadQueue: r.DeadLetter.Queue, Retention: r.Retention()}}
}
