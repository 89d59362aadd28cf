package letters

import (
	"fmt"
	"io"
	"slices"
)

// Options are the settings of the runs.
type Options struct {
	Seed uint64
	// Kills is the number of killed processes per run, including FLUSHALL and failovers.
	Kills int
	Only  []string // names of runs; empty: all
	// Unsafe: Redis keeps nothing on disk, so it loses everything when killed: the runs must find that.
	Unsafe bool
	// Dir is for logs, databases and spools. The caller removes it.
	Dir string
	// Node is the path of Tasker's binary; Application that of a program that calls Application.
	Node, Application string
	// Out gets a line for each fault.
	Out io.Writer
}

type scenario struct {
	name     string
	kind     *kind // of the queues; nil for consumers of package redisqueue, and for dispatches
	dispatch bool  // over RabbitMQ, to workers
	postgres bool  // with two nodes; else SQLite with one
	flush    bool  // Redis is emptied again and again
	failover bool  // a replica takes over again and again
}

var scenarios = []scenario{
	{name: "list-sqlite", kind: lists},
	{name: "stream-postgres", kind: streams, postgres: true},
	{name: "consumer"},
	{name: "list-postgres", kind: lists, postgres: true},
	{name: "stream-sqlite", kind: streams},
	{name: "flush-list", kind: lists, flush: true},
	{name: "flush-stream", kind: streams, postgres: true, flush: true},
	{name: "flush-consumer", flush: true},
	{name: "failover-list", kind: lists, failover: true},
	{name: "failover-stream", kind: streams, failover: true},
	{name: "failover-consumer", failover: true},
	{name: "rabbitmq-sqlite", kind: classics},
	{name: "rabbitmq-postgres", kind: classics, postgres: true},
	{name: "rabbitmq-quorum-sqlite", kind: quorums},
	{name: "rabbitmq-quorum-postgres", kind: quorums, postgres: true},
	{name: "kafka-sqlite", kind: topics},
	{name: "kafka-postgres", kind: topics, postgres: true},
	{name: "dispatch-sqlite", dispatch: true},
	{name: "dispatch-postgres", dispatch: true, postgres: true},
}

// Names returns the names of all runs.
func Names() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

func (o *Options) chosen() ([]scenario, error) {
	if o.Kills < 1 {
		return nil, fmt.Errorf("the number of kills must be at least 1, not %d", o.Kills)
	}
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no run %q; there are %v", name, Names())
		}
	}
	var all []scenario
	for _, s := range scenarios {
		if len(o.Only) == 0 || slices.Contains(o.Only, s.name) {
			all = append(all, s)
		}
	}
	return all, nil
}
