package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Options configures a measurement.
type Options struct {
	// DB is the DSN of a database; the run leaves its tasks in it. On PostgreSQL a
	// DSN without schema=NAME gets a schema for the run, which is dropped after it.
	DB string
	// Tasks per phase. Defaults to 20,000 (300 in latency mode).
	Tasks int
	// Workers is how many steps run at once, on all nodes together. Defaults to 100.
	Workers int
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
	// Transport is the URL of a RabbitMQ through which workers get their steps, for ViaHTTP; "" for polls. The run leaves
	// its queues in the virtual host of the URL.
	Transport string
	// Letters and Groups are the number of dead letters, and of their causes, in letters mode. They default to 100,000
	// and 500.
	Letters, Groups int
	// Broker is where the letters come from and go to: "memory", in this process, or "redis-list", "redis-stream",
	// "rabbitmq" or "kafka", on the server of BrokerURL. Defaults to "memory".
	Broker, BrokerURL string
	// Minutes and Rate are the length of a soak and its tasks per second. They default to 10 and 400. Unattended leaves
	// what fails for good: nothing deletes it. EachMinute is told what was seen; nil: nobody is.
	Minutes, Rate int
	Unattended    bool
	EachMinute    func(SoakMinute)
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
	Letters    Mode = "letters"    // dead letters in, on pages and back
	Intake     Mode = "intake"     // messages of a broker that become tasks
	Soak       Mode = "soak"       // what grows under a steady load
)

var modes = []Mode{Throughput, Latency, Letters, Intake, Soak}

// maxLetters is what one redrive takes.
const maxLetters = 1_000_000

// maxRate bounds the tasks per second of a soak, against a slip of the hand.
const maxRate = 1_000_000

// maxNodes bounds the servers of one run, against a slip of the hand.
const maxNodes = 64

// withDefaults fills in what is zero.
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

// setting is what a report says of the options.
func (o Options) setting() Setting {
	return Setting{Mode: o.Mode, Via: o.Via, Nodes: o.Nodes, DB: o.DB, Dispatch: o.Dispatch, Transport: o.Transport,
		Tasks: o.Tasks, Workers: o.Workers, Producers: o.Producers, PayloadBytes: o.PayloadBytes}
}

// Validate reports what cannot be measured, without touching a database. Its
// errors begin with the name of the option, as it is on the command line. An
// empty DB stands for a new SQLite database.
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
