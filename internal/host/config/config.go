package config

import (
	"cmp"
	"time"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/settings"
)

// Config is the configuration of a Tasker process. Load returns a valid one with defaults. It is immutable.
type Config struct {
	DB DB
	// Dispatch is the way of ready steps to workers: native, through the database, or
	// redis://[USER:PASSWORD@]HOST:PORT[/NUMBER], through a Redis filled from the database.
	Dispatch string
	Server   Server
	Engine   settings.Config
	// Keys are the API keys: name, sha256 (the hash of the key), permissions (see access.Permissions) and
	// namespaces (default: all). Without keys the API is open to every caller that reaches it.
	Keys []access.Key
	// Sources are the initial sources of dead letters. A source or policy is saved at the first start with it, and
	// again after it changes here.
	Sources      []Source
	Webhooks     []Webhook
	MessageQueue MessageQueue
	DLQ          DLQ
	Encryption   Encryption
	Blobs        Blobs
	Log          Log
	Telemetry    Telemetry

	origins map[string]Origin
}

// DLQ configures /api/dlq.
type DLQ struct {
	// APIKeyEnabled requires an API key for changing requests: a server without keys refuses to start with it. A
	// server with keys always requires them.
	APIKeyEnabled bool
	// APIKeyParameter accepts the key of such a request as the parameter api_key, too. Proxies and browsers store
	// URLs, which weakens the secret.
	APIKeyParameter bool
	// MaxRequeueIterations bounds the jobs of one requeue-all, 1 to 100,000.
	MaxRequeueIterations int
	// MaxRetryAttempts, RetryDelayHours and MaxAgeDays, if any is set, make an exponential policy for letters
	// without one, with delays up to an hour or RetryDelayHours if more. Missing ones are 5, 1 hour and 7 days.
	// DLQ_MAX_RETRY_ATTEMPTS, DLQ_RETRY_DELAY_HOURS and DLQ_MAX_AGE_DAYS set them, too.
	MaxRetryAttempts int
	RetryDelayHours  float64
	MaxAgeDays       float64
	// BatchSize bounds the messages of a source captured in one transaction, up to 1,000; 0 is the fastest number.
	// DLQ_BATCH_SIZE sets it, too.
	BatchSize int
}

// Webhook is a receiver of events of the inbox.
type Webhook struct {
	// Name has letters, digits, and - _ . between them, at most 64.
	Name string
	// URL begins with https:// or http://. The part behind the host is secret.
	URL string
	// Secrets sign each request, the newest first: one to five of whsec_ and 24 to 64 bytes in base64. Older ones
	// serve receivers that have not changed yet.
	Secrets []string
	// Events are event types of deadletter.HookTypes, by default deadletter.DefaultHookTypes.
	Events []string
	// Namespaces of the events; none: all.
	Namespaces []string
}

// DB locates the database. In a file, `db: DSN` is short for `db: {dsn: DSN}`; in the environment, TASKER_DB
// for TASKER_DB_DSN.
type DB struct {
	// DSN is sqlite:PATH, a plain path, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or memory:, which ends with
	// the process.
	DSN string
	// Migrate handles an older schema: auto migrates it, never refuses to start.
	Migrate string
	// PoolSize bounds the connections of this process to PostgreSQL; 0 is 10. pool_max_conns in the DSN overrides
	// it.
	PoolSize int
}

// Server bounds HTTP requests and connections. The engine limits payloads, batches and pages, also without HTTP.
type Server struct {
	// Listen is HOST:PORT; port 0 takes a free one.
	Listen string
	// AllowOpen allows listening without API keys on an address that other machines reach.
	AllowOpen bool
	// BodyBytes bounds the body of a request for one object.
	BodyBytes int
	// BatchBodyBytes bounds the body of a request for many objects, at least BodyBytes.
	BatchBodyBytes int
	// BodiesBytes bounds the sum of the bodies being received, at least BatchBodyBytes.
	BodiesBytes      int
	MaxConnections   int
	MaxStreams       int
	MaxStreamsPerKey int
	// DrainTimeout bounds the wait of a stopping server for open requests.
	DrainTimeout time.Duration
}

// Log configures the log, which is written to standard error.
type Log struct {
	// Level is debug, info, warn or error.
	Level string
	// Format is text or json.
	Format string
	// Transitions logs each transition of a task or a step, at level info, in the process that made it.
	Transitions bool
}

// Telemetry configures traces. Metrics are always at /metrics.
type Telemetry struct {
	// OTLPEndpoint receives spans by OTLP over HTTP, such as http://localhost:4318; "" sends none.
	OTLPEndpoint string
	// SampleRatio is the share, from 0 to 1, of changing requests without a trace context that begin a trace.
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

// withDefaults gives 0 and "" the meaning of a missing key. Fields whose zero value is a choice, such as AllowOpen,
// stay.
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
