package config

import (
	"cmp"
	"time"

	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/settings"
)

// Config is everything that can be set about a Tasker process. Load makes one
// that has its defaults and is valid.
type Config struct {
	DB DB
	// Dispatch says how ready steps reach workers: native, through the database, or
	// redis://[USER:PASSWORD@]HOST:PORT[/NUMBER], through a Redis that is filled from
	// it. Defaults to native.
	Dispatch string
	Server   Server
	Engine   settings.Config
	// Keys are the API keys: name, sha256 (the hash of the key), permissions
	// (submit, read, operate, work, admin; at least one) and namespaces (defaults
	// to all). `tasker key generate` makes a key and its entry. Defaults to none:
	// the API is open to whoever reaches it.
	Keys      []access.Key
	Log       Log
	Telemetry Telemetry

	origins map[string]Origin
}

// DB says where the truth is kept. In a file, `db: DSN` is short for
// `db: {dsn: DSN}`; in the environment, TASKER_DB for TASKER_DB_DSN.
type DB struct {
	// DSN is sqlite:PATH, a plain path, postgres://USER:PASSWORD@HOST:PORT/DATABASE,
	// or memory: for a store that is gone with the process. Defaults to
	// sqlite:tasker.db in the working directory.
	DSN string
	// Migrate says what is done when the schema of the database is older than this
	// binary: auto migrates it, never refuses to start. Defaults to auto.
	Migrate string
	// PoolSize bounds the connections that this process opens to PostgreSQL.
	// pool_max_conns in the DSN goes before it. Defaults to 0, which means 10.
	PoolSize int
}

// Server bounds the HTTP side. Limits on payloads, batches and pages are the
// engine's, because they hold without HTTP too.
type Server struct {
	// Listen is HOST:PORT; port 0 takes a free one. Defaults to 127.0.0.1:8080.
	Listen string
	// AllowOpen lets the server listen on an address that other machines reach
	// though there are no API keys. Defaults to false.
	AllowOpen bool
	// BodyBytes bounds the body of a request about one thing, in bytes.
	// Defaults to 4 MiB.
	BodyBytes int
	// BatchBodyBytes bounds the body of a request about many things, in bytes;
	// less than BodyBytes counts as that. Defaults to 16 MiB.
	BatchBodyBytes int
	// BodiesBytes bounds the bodies that are being received at one time, together, in
	// bytes; less than BatchBodyBytes counts as that. Defaults to 256 MiB.
	BodiesBytes int
	// MaxConnections bounds the connections that are open at once. Defaults to 10,000.
	MaxConnections int
	// MaxStreams bounds the streams of events that are open at once. Defaults to 1,000.
	MaxStreams int
	// MaxStreamsPerKey bounds those that one API key has open. Defaults to 250.
	MaxStreamsPerKey int
	// DrainTimeout bounds how long a stopping server waits for the requests that
	// are under way. Defaults to 15 s.
	DrainTimeout time.Duration
}

// Log says what is logged, to standard error.
type Log struct {
	// Level is debug, info, warn or error. Defaults to info.
	Level string
	// Format is text or json. Defaults to text.
	Format string
	// Transitions logs each transition of a task or a step, at level info, in the
	// process that made it. Defaults to false.
	Transitions bool
}

// Telemetry says where traces go. Metrics are always at /metrics.
type Telemetry struct {
	// OTLPEndpoint is the URL to which spans are sent by OTLP over HTTP, such as
	// http://localhost:4318. Defaults to none: there are no spans.
	OTLPEndpoint string
	// SampleRatio is the share, from 0 to 1, of requests that begin a trace, of
	// those that change something and come without one. Defaults to 0: only what
	// belongs to a caller's trace is traced.
	SampleRatio float64
}

// Default is the Config in force when nothing is set.
func Default() Config {
	return Config{
		DB: DB{DSN: "sqlite:tasker.db", Migrate: "auto"}, Dispatch: DispatchNative,
		Server: Server{Listen: "127.0.0.1:8080", BodyBytes: 4 << 20, BatchBodyBytes: 16 << 20, BodiesBytes: 256 << 20,
			MaxConnections: 10_000, MaxStreams: 1000, MaxStreamsPerKey: 250, DrainTimeout: 15 * time.Second},
		Engine: settings.Config{}.WithDefaults(),
		Log:    Log{Level: "info", Format: "text"},
	}
}

// withDefaults gives zero fields their default, so that a key set to 0 or to
// empty text means what a missing key means.
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
	c.Log.Level = cmp.Or(c.Log.Level, d.Log.Level)
	c.Log.Format = cmp.Or(c.Log.Format, d.Log.Format)
	c.Engine = c.Engine.WithDefaults()
	return c
}
