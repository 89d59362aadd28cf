package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options says what to measure.
type Options struct {
	// DB is the DSN of a database; the run leaves its tasks in it. On PostgreSQL a
	// DSN without schema=NAME gets a schema for the run, which is dropped after it.
	DB string
	// Tasks per phase. Defaults to 20,000 (300 in latency mode, 1,000,000 in depth
	// and cases mode, 500,000 in pinned mode, 990,000 on the other routes in workers mode).
	Tasks int
	// Finished is how many finished tasks depth mode begins with. Defaults to 0.
	// PostgreSQL only: its rows are generated there.
	Finished int
	// Workers is how many steps run at once, on all nodes together. Defaults to 100;
	// in workers mode it is how many workers there are, 10,000 by default.
	Workers int
	// Window is for how long workers mode watches idle workers. Defaults to a minute.
	Window time.Duration
	// Producers is how many callers submit one task a call. Defaults to 16.
	Producers int
	// PayloadBytes is the size of a task's context. Defaults to 100.
	PayloadBytes int
	// Via is how callers and workers reach the engine.
	Via Via
	// Nodes is how many servers share the database, for ViaHTTP. Callers and
	// workers are spread over them. Defaults to 1; more need PostgreSQL.
	Nodes int
	// Mode is what is measured.
	Mode Mode
	// Dispatch is the URL of a Redis through which steps are dispatched; "" for none.
	Dispatch string
	// Executable is the tasker binary that serves, for ViaHTTP.
	Executable string
}

// Via is how callers and workers reach the engine.
type Via string

// The ways.
const (
	InProcess Via = "inproc"
	ViaHTTP   Via = "http" // a server in another process, over loopback
)

// Mode is what is measured.
type Mode string

// The modes.
const (
	Throughput Mode = "throughput" // tasks per second in, through and out
	Latency    Mode = "latency"    // of an idle system
	Depth      Mode = "depth"      // what a long queue and a long history cost
	Pinned     Mode = "pinned"     // what a snapshot costs that stays open, on PostgreSQL
	Cases      Mode = "cases"      // what finding stale tasks, opening cases and asking for them costs
	Fleet      Mode = "workers"    // what many idle workers cost, and claims on one of many routes
)

var modes = []Mode{Throughput, Latency, Depth, Pinned, Cases, Fleet}

const (
	maxNodes    = 64
	maxFinished = 500_000_000
)

func (o Options) withDefaults() Options {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if o.Mode == "" {
		o.Mode = Throughput
	}
	if o.Via == "" {
		o.Via = InProcess
	}
	switch o.Mode {
	case Latency:
		def(&o.Tasks, 300)
	case Depth, Cases:
		def(&o.Tasks, 1_000_000)
	case Pinned:
		def(&o.Tasks, 500_000)
	case Fleet:
		def(&o.Tasks, 990_000)
		def(&o.Workers, 10_000)
	}
	if o.Window == 0 {
		o.Window = time.Minute
	}
	def(&o.Tasks, 20_000)
	def(&o.Workers, 100)
	def(&o.Producers, 16)
	def(&o.PayloadBytes, 100)
	def(&o.Nodes, 1)
	return o
}

// Validate reports what cannot be measured, without touching a database. Its
// errors begin with the name of the option, as it is on the command line. An
// empty DB stands for a new SQLite database.
func (o Options) Validate() error {
	o = o.withDefaults()
	postgres := isPostgres(o.DB)
	switch {
	case o.Via != InProcess && o.Via != ViaHTTP:
		return fmt.Errorf("via must be %s or %s, not %q", InProcess, ViaHTTP, o.Via)
	case !slices.Contains(modes, o.Mode):
		return fmt.Errorf("mode must be one of %v, not %q", modes, o.Mode)
	case o.Tasks < 1:
		return fmt.Errorf("tasks must be positive")
	case o.Workers < 1:
		return fmt.Errorf("workers must be positive")
	case o.Producers < 1:
		return fmt.Errorf("producers must be positive")
	case o.PayloadBytes < 2:
		return fmt.Errorf("payload must be at least 2, the shortest JSON text")
	case o.Nodes < 1 || o.Nodes > maxNodes:
		return fmt.Errorf("nodes must be 1 to %d", maxNodes)
	case o.Nodes > 1 && o.Via != ViaHTTP:
		return fmt.Errorf("nodes are servers: they need --via http")
	case o.Nodes > 1 && !postgres:
		return fmt.Errorf("nodes share a database: more than one need PostgreSQL")
	case o.Workers < o.Nodes:
		return fmt.Errorf("workers must be at least as many as nodes: each has its own")
	case o.Mode == Pinned && !postgres:
		return fmt.Errorf("mode pinned is about PostgreSQL: give it one with --db")
	case (o.Mode == Depth || o.Mode == Cases) && o.Via != InProcess:
		return fmt.Errorf("mode %s measures in process only", o.Mode)
	case o.Mode == Cases && strings.HasPrefix(o.DB, "memory:"):
		return fmt.Errorf("mode cases opens its database several times: it must outlive that")
	case o.Mode == Cases && o.Tasks < staleShare:
		return fmt.Errorf("tasks must be at least %d in mode cases, so that one is stale", staleShare)
	case o.Mode == Fleet && o.Tasks < capabilitySets:
		return fmt.Errorf("tasks must be at least %d in mode workers, one for each route", capabilitySets)
	case o.Window < time.Second || o.Window > time.Hour:
		return fmt.Errorf("window must be 1s to 1h")
	case o.Finished < 0 || o.Finished > maxFinished:
		return fmt.Errorf("finished must be 0 to %d", maxFinished)
	case o.Finished > 0 && o.Mode != Depth:
		return fmt.Errorf("finished tasks are part of --mode depth only")
	case o.Finished > 0 && !postgres:
		return fmt.Errorf("finished tasks are generated by PostgreSQL: give it one with --db")
	}
	return nil
}

// isPostgres reports whether a DSN names a PostgreSQL.
func isPostgres(dsn string) bool {
	scheme, _, _ := strings.Cut(dsn, ":")
	return strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql")
}
