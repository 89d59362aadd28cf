package config

import (
	"cmp"
	"time"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/settings"
)

// Config is the configuration of a Tasker process. A Config from Load is valid and has its
// defaults. It does not change while the process runs.
type Config struct {
	DB DB
	// Dispatch selects the way of ready steps to workers: native, through the database, or
	// redis://[USER:PASSWORD@]HOST:PORT[/NUMBER], through a Redis filled from the database. Defaults to
	// native.
	Dispatch string
	Server   Server
	Engine   settings.Config
	// Keys are the API keys: name, sha256 (the hash of the key), permissions (at least one; access.Permissions
	// lists them) and namespaces (defaults to all). `tasker key generate` makes a key and its entry.
	// Defaults to none: the API is open to every caller that reaches it.
	Keys []access.Key
	// Sources are the sources of dead letters that a node knows from the beginning: name, driver, url, queue, format,
	// targets, max_replays, max_open, intake, namespace and policies. Each source and each policy is saved at the first
	// start with it, and again when it has changed here. Defaults to none.
	Sources []Source
	// Webhooks receive events of the inbox, signed. Defaults to none.
	Webhooks []Webhook
	// MessageQueue configures the dispatch of steps to workers over a message broker.
	MessageQueue MessageQueue
	// DLQ configures the compatibility family /api/dlq.
	DLQ DLQ
	// Encryption has the keys for sensitive values.
	Encryption Encryption
	// Blobs names the store of large results.
	Blobs     Blobs
	Log       Log
	Telemetry Telemetry

	origins map[string]Origin
}

// DLQ configures the compatibility family /api/dlq.
type DLQ struct {
	// APIKeyEnabled demands that requests which change something need an API key: a server without keys refuses to
	// start with it. A server with keys always demands them. Defaults to false.
	APIKeyEnabled bool
	// APIKeyParameter accepts the key of such a request as the parameter api_key, too. Proxies and browsers store URLs, so
	// a key in a URL is less of a secret. Defaults to false.
	APIKeyParameter bool
	// MaxRequeueIterations bounds the jobs of one requeue-all, 1 to 100,000. Defaults to 10,000.
	MaxRequeueIterations int
	// MaxRetryAttempts, RetryDelayHours and MaxAgeDays make a policy for letters that no other one is for, if at least
	// one of them is set: exponential, from that delay up to an hour or the delay if that is more. What is left out is 5,
	// 1 hour and 7 days. The variables DLQ_MAX_RETRY_ATTEMPTS, DLQ_RETRY_DELAY_HOURS and DLQ_MAX_AGE_DAYS set them too.
	// Default to 0: not set.
	MaxRetryAttempts int
	RetryDelayHours  float64
	MaxAgeDays       float64
	// BatchSize bounds the messages of a source that are captured in one transaction, up to 1,000. DLQ_BATCH_SIZE sets it
	// too. Defaults to 0: what is fastest.
	BatchSize int
}

// Webhook is a receiver of events of the inbox.
type Webhook struct {
	// Name identifies it: letters, digits, and - _ . between them, at most 64.
	Name string
	// URL begins with https:// or http://. What follows the host counts as a secret.
	URL string
	// Secrets sign each request, the newest first: whsec_ and 24 to 64 bytes in base64. One to five; a second one is for
	// the time in which receivers change to it.
	Secrets []string
	// Events are the types of events that it receives: see deadletter.HookTypes. Defaults to
	// deadletter.DefaultHookTypes.
	Events []string
	// Namespaces are those of the events. Defaults to all.
	Namespaces []string
}

// DB locates the database. In a file, `db: DSN` is short for `db: {dsn: DSN}`; in the environment, TASKER_DB
// for TASKER_DB_DSN.
type DB struct {
	// DSN is sqlite:PATH, a plain path, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or memory: for a store
	// that ends with the process. Defaults to sqlite:tasker.db in the working directory.
	DSN string
	// Migrate selects the handling of a schema older than this binary: auto migrates it, never refuses to
	// start. Defaults to auto.
	Migrate string
	// PoolSize bounds the connections of this process to PostgreSQL. pool_max_conns in the DSN overrides it.
	// Defaults to 0, which means 10.
	PoolSize int
}

// Server bounds HTTP requests and connections. Limits on payloads, batches and pages are the engine's,
// because they hold without HTTP too.
type Server struct {
	// Listen is HOST:PORT; port 0 takes a free one. Defaults to 127.0.0.1:8080.
	Listen string
	// AllowOpen lets the server listen without API keys on an address that other machines reach. Defaults to
	// false.
	AllowOpen bool
	// BodyBytes bounds the body of a request for one object, in bytes. Defaults to 4 MiB.
	BodyBytes int
	// BatchBodyBytes bounds the body of a request for many objects, in bytes; a value below BodyBytes counts
	// as BodyBytes. Defaults to 16 MiB.
	BatchBodyBytes int
	// BodiesBytes bounds the sum of the bodies being received at one time, in bytes; a value below
	// BatchBodyBytes counts as BatchBodyBytes. Defaults to 256 MiB.
	BodiesBytes int
	// MaxConnections bounds the open connections. Defaults to 10,000.
	MaxConnections int
	// MaxStreams bounds the open streams of events. Defaults to 1,000.
	MaxStreams int
	// MaxStreamsPerKey bounds the open streams of one API key. Defaults to 250.
	MaxStreamsPerKey int
	// DrainTimeout bounds how long a stopping server waits for open requests. Defaults to 15 s.
	DrainTimeout time.Duration
}

// Log configures the log, which is written to standard error.
type Log struct {
	// Level is debug, info, warn or error. Defaults to info.
	Level string
	// Format is text or json. Defaults to text.
	Format string
	// Transitions logs each transition of a task or a step, at level info, in the process that made it.
	// Defaults to false.
	Transitions bool
}

// Telemetry configures traces. Metrics are always at /metrics.
type Telemetry struct {
	// OTLPEndpoint is the URL to which spans are sent by OTLP over HTTP, such as http://localhost:4318.
	// Defaults to none: there are no spans.
	OTLPEndpoint string
	// SampleRatio is the share, from 0 to 1, of changing requests without a trace context that begin a trace.
	// Defaults to 0: only the traces of callers are continued.
	SampleRatio float64
}

// Default returns the configuration of a process without file, environment and flags.
func Default() Config {
	return Config{
		DB: DB{DSN: "sqlite:tasker.db", Migrate: "auto"}, Dispatch: DispatchNative,
		Server: Server{Listen: "127.0.0.1:8080", BodyBytes: 4 << 20, BatchBodyBytes: 16 << 20, BodiesBytes: 256 << 20,
			MaxConnections: 10_000, MaxStreams: 1000, MaxStreamsPerKey: 250, DrainTimeout: 15 * time.Second},
		Engine: settings.Config{}.WithDefaults(),
		Log:    Log{Level: "info", Format: "text"},
		DLQ:    DLQ{MaxRequeueIterations: 10_000},

		MessageQueue: MessageQueue{Rabbitmq: defaultRabbitmq},
	}
}

// withDefaults replaces zero fields by their defaults, so that 0 or an empty text means the
// same as a missing key. Fields whose zero value is a choice of its own, such as AllowOpen, are
// left alone.
func (c Config) withDefaults() Config {
	d := Default()
	c.DB.DSN = cmp.Or(c.DB.DSN, d.DB.DSN)
	c.DB.Migrate = cmp.Or(c.DB.Migrate, d.DB.Migrate)
	c.Dispatch = cmp.Or(c.Dispatch, d.Dispatch)
	c.Server.Listen = cmp.Or(c.Server.Listen, d.Server.Listen)
	c.Server.BodyBytes = cmp.Or(c.Server.BodyBytes, d.Server.BodyBytes)
	c.Server.BatchBodyBytes = cmp.Or(c.Server.BatchBodyBytes, d.Server.BatchBodyBytes)
	c.Server.BodiesBytes = cmp.Or(c.Server.BodiesBytes, d.Server.BodiesBytes)
	c.Server.MaxConnections = cmp.Or(c.Server.MaxConnections, d.Server.MaxConnections)
	c.Server.MaxStreamsPerKey = cmp.Or(c.Server.MaxStreamsPerKey, d.Server.MaxStreamsPerKey)
	c.Server.MaxStreams = cmp.Or(c.Server.MaxStreams, d.Server.MaxStreams)
	c.Server.DrainTimeout = cmp.Or(c.Server.DrainTimeout, d.Server.DrainTimeout)
	c.DLQ.MaxRequeueIterations = cmp.Or(c.DLQ.MaxRequeueIterations, d.DLQ.MaxRequeueIterations)
	c.Log.Level = cmp.Or(c.Log.Level, d.Log.Level)
	c.Log.Format = cmp.Or(c.Log.Format, d.Log.Format)
	c.MessageQueue.Rabbitmq = c.MessageQueue.Rabbitmq.withDefaults()
	c.Engine.Delivery = c.MessageQueue.Rabbitmq.delivery()
	c.Engine = c.Engine.WithDefaults()
	return c
}
