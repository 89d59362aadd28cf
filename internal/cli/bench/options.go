package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Options configures a measurement.
type Options struct {
	// DB is a DSN; the run leaves its tasks there. On PostgreSQL a DSN without schema=NAME gets a temporary schema.
	DB string
	// Tasks per phase, by default 20,000 (300 in latency mode).
	Tasks int
	// Workers is the number of concurrent steps on all nodes, by default 100.
	Workers int
	// Producers is the number of callers with one task per call, by default 16.
	Producers int
	// PayloadBytes is the size of a task's context, by default 100.
	PayloadBytes int
	Via          Via
	// Nodes is the number of servers on the database, for ViaHTTP, by default 1; more need PostgreSQL. Callers and
	// workers are spread over them.
	Nodes int
	Mode  Mode
	// Dispatch is the URL of a Redis dispatcher, or "".
	Dispatch string
	// Transport is the URL of a RabbitMQ that delivers steps, for ViaHTTP; "" polls. The run leaves its queues in
	// the URL's virtual host.
	Transport string
	// Letters and Groups are the numbers of dead letters and causes in letters mode, by default 100,000 and 500.
	Letters, Groups int
	// Broker of the letters: "memory" (the default), or "redis-list", "redis-stream", "rabbitmq" or "kafka" on the
	// server of BrokerURL.
	Broker, BrokerURL string
	// Minutes and Rate are the length of a soak and its tasks per second, by default 10 and 400. Unattended keeps
	// permanent failures. EachMinute, if set, receives each minute.
	Minutes, Rate int
	Unattended    bool
	EachMinute    func(SoakMinute)
	// Executable is the serving tasker binary for ViaHTTP.
	Executable string
}

// Via is the way of callers and workers to the engine.
type Via string

// The ways.
const (
	InProcess Via = "inproc"
	ViaHTTP   Via = "http" // a server process, over loopback
)

// Mode selects the measurement.
type Mode string

// The modes.
const (
	Throughput Mode = "throughput" // tasks per second in, through and out
	Latency    Mode = "latency"    // of an idle system
	Letters    Mode = "letters"    // dead letters in, on pages and back
	Intake     Mode = "intake"     // broker messages that become tasks
	Soak       Mode = "soak"       // growth under a steady load
)

var modes = []Mode{Throughput, Latency, Letters, Intake, Soak}

// maxLetters is the limit of a redrive.
const maxLetters = 1_000_000

// maxRate bounds the tasks per second of a soak, against slips.
const maxRate = 1_000_000

// maxNodes bounds the servers of a run, against slips.
const maxNodes = 64

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
	if o.Mode == Latency {
		def(&o.Tasks, 300)
	}
	if o.Broker == "" {
		o.Broker = brokerMemory
	}
	def(&o.Tasks, 20_000)
	def(&o.Workers, 100)
	def(&o.Producers, 16)
	def(&o.PayloadBytes, 100)
	def(&o.Nodes, 1)
	def(&o.Letters, 100_000)
	def(&o.Groups, 500)
	def(&o.Minutes, 10)
	def(&o.Rate, 400)
	return o
}

func (o Options) setting() Setting {
	return Setting{Mode: o.Mode, Via: o.Via, Nodes: o.Nodes, DB: o.DB, Dispatch: o.Dispatch, Transport: o.Transport,
		Tasks: o.Tasks, Workers: o.Workers, Producers: o.Producers, PayloadBytes: o.PayloadBytes}
}

// Validate checks the options without a database. Its errors begin with the name of the command-line flag. An empty
// DB is a new SQLite database.
func (o Options) Validate() error {
	o = o.withDefaults()
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
	case (o.Mode == Letters || o.Mode == Intake) && o.Via != InProcess:
		return fmt.Errorf("via must be %s with mode %s: the broker is in the process", InProcess, o.Mode)
	case o.Mode == Soak && o.Via != InProcess:
		return fmt.Errorf("via must be %s with mode %s: its memory is measured", InProcess, o.Mode)
	case o.Minutes < 1:
		return fmt.Errorf("minutes must be positive")
	case o.Rate < 1 || o.Rate > maxRate:
		return fmt.Errorf("rate must be 1 to %d", maxRate)
	case o.Letters < 1 || o.Letters > maxLetters:
		return fmt.Errorf("letters must be 1 to %d", maxLetters)
	case o.Groups < 1 || o.Groups > o.Letters:
		return fmt.Errorf("groups must be 1 to the number of letters")
	case !slices.Contains(brokers, o.Broker):
		return fmt.Errorf("broker must be one of %s, not %q", strings.Join(brokers, ", "), o.Broker)
	case (o.Broker == brokerMemory) != (o.BrokerURL == ""):
		return fmt.Errorf("broker-url goes with the brokers %s, which need it", strings.Join(brokers[1:], ", "))
	case o.Nodes < 1 || o.Nodes > maxNodes:
		return fmt.Errorf("nodes must be 1 to %d", maxNodes)
	case o.Nodes > 1 && o.Via != ViaHTTP:
		return fmt.Errorf("nodes are servers: they need --via http")
	case o.Transport != "" && o.Via != ViaHTTP:
		return fmt.Errorf("transport is for workers of servers: it needs --via http")
	case o.Transport != "" && o.Nodes > 1:
		return fmt.Errorf("transport goes with one node: the ledger of several counts polls")
	case o.Nodes > 1 && !IsPostgres(o.DB):
		return fmt.Errorf("nodes share a database: more than one need PostgreSQL")
	case o.Workers < o.Nodes:
		return fmt.Errorf("workers must be at least as many as nodes: each has its own")
	}
	return nil
}

// IsPostgres reports whether a DSN names a PostgreSQL.
func IsPostgres(dsn string) bool {
	scheme, _, _ := strings.Cut(dsn, ":")
	return strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql")
}
