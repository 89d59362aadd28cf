package app

import (
	"context"
	"log/slog"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/dlqapi"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/dashboard/session"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/schedules"
	"github.com/taskerhq/tasker/worker/protocol"
)

// backend is the engine on its store, as Run uses it.
type backend interface {
	protocol.Backend
	httpapi.Backend
	web.KeyUse
	session.Store
	httpapi.SensitiveRules
	// DeadLetters, Schedules, Jobs and Messages are nil for a store without them.
	DeadLetters() deadletters.Backend
	Schedules() schedules.Backend
	Jobs() dlqapi.Backend
	Messages() deadletters.TopicBackend
	Run(ctx context.Context) error
	// Turns returns the process of each exclusive loop; nil for a store of this process.
	Turns(ctx context.Context) ([]operate.Turn, error)
	// Ready says why the store does not answer or refuses writes, or returns nil.
	Ready(ctx context.Context) error
}

// open opens the engine on the configured store, from which tel then gets its counts of tasks and queues.
func open(ctx context.Context, dsn config.DSN, cfg *config.Config, drivers driver.Registry, log *slog.Logger,
	tel *telemetry.Telemetry,
) (backend, error) {
	ring, err := cfg.Encryption.Ring()
	if err != nil {
		return nil, &tasker.Error{Code: tasker.CodeInvalid, Message: err.Error(), Hint: "see docs/guides/encryption.md"}
	}
	blobs, err := cfg.Blobs.Open()
	if err != nil {
		return nil, &tasker.Error{Code: tasker.CodeInvalid, Message: err.Error(), Hint: "see docs/guides/large-results.md"}
	}
	b, err := node.Open(ctx, dsn.Source(), node.Options{Logger: log, Engine: cfg.Engine,
		Migrate: migration.Mode(cfg.DB.Migrate), PoolSize: cfg.DB.PoolSize, Webhooks: cfg.Endpoints(),
		Dispatch: cfg.Dispatch, Observer: tel,
		Drivers:       drivers,
		Encryption:    node.Encryption{Ring: ring, Reload: cfg.Encryption.Ring, Lost: cfg.Encryption.LostKeys},
		Blobs:         counted(blobs, tel.Blobs()),
		RabbitMQ:      rabbit(cfg, tel),
		Sources:       cfg.DeadLetterSources(),
		Policies:      cfg.DeadLetterPolicies(),
		DefaultPolicy: cfg.DefaultPolicy(), ReadBatch: cfg.DLQ.BatchSize,
		Gone: tel.Gone, Letters: tel.Letters(), Firings: firings{tel.Schedules()},
		Intaken: func(namespace, source string, of inbox.Intaken) {
			tel.TookIn(namespace, source, of.Tasks, of.Known, of.Letters)
		},
		Transitions: cfg.Log.Transitions && log.Enabled(ctx, slog.LevelInfo)})
	if err != nil {
		return nil, err // a nil *node in the interface would not be nil
	}
	tel.Watch(b.Census)
	tel.WatchSources(SourceCounter(b))
	tel.Letters().WatchOrigins(OriginCounter(b))
	tel.WatchIntakeFailures(FailureCounter(b))
	return b, nil
}

func rabbit(cfg *config.Config, tel *telemetry.Telemetry) node.RabbitMQ {
	r := &cfg.MessageQueue.Rabbitmq
	return node.RabbitMQ{URL: r.URL, Prefetch: r.Prefetch, Observer: tel.Deliveries(), Topology: node.Topology{
		Quorum: r.QueueType == "quorum", TTL: r.WorkerQueueTTL(), DeadLetters: r.DeadLetter.Enabled,
		Exchange: r.DeadLetter.Exchange, DeadQueue: r.DeadLetter.Queue, Retention: r.Retention()}}
}
