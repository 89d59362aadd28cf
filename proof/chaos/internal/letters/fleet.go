package letters

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/proof/crashtest/load"
	"github.com/taskerhq/tasker/rabbitmq"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker/protocol"
)

// overRabbit are the prefixes of names of workers over RabbitMQ.
var overRabbit = []string{"sdk0", "sdk1", "sdk2", "program0", "program1"}

// fleet is workers over RabbitMQ and HTTP, and producers, in a run of the dispatch. The programs are killed and frozen;
// the other workers keep a journal.
type fleet struct {
	journal  *crashtest.Journal
	handlers load.Handlers
	clients  []*tasker.Client // of each node, with a recorder
	programs []*app
	zombie   *load.Zombie
}

func (f *fleet) crashes() []string { return crashes(f.programs) }

// dispatchEnv is the environment of nodes that dispatch over RabbitMQ, with early and unlimited expiry of messages.
func (r *run) dispatchEnv() []string {
	if !r.dispatch {
		return nil
	}
	const section = "TASKER_MESSAGE_QUEUE_RABBITMQ_"
	return []string{section + "URL=" + r.brokers.through(parametersOfRabbit()), section + "WORKER_QUEUE_TTL_MS=2500",
		section + "EXPIRY_LIMIT=1000"}
}

// dispatches is a run of the dispatch: the load, then everything settles, is killed a last time and checked.
func (r *run) dispatches(ctx context.Context) error {
	r.fleet = &fleet{journal: crashtest.NewJournal()}
	r.fleet.journal.Foreign["foreign"] = true
	for _, s := range r.nodes.Servers {
		if err := s.Start(ctx); err != nil {
			return err
		}
		client, err := remote.Dial(s.URL(), &remote.Options{RequestTimeout: 10 * time.Second})
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }() // nothing could fail
		r.fleet.clients = append(r.fleet.clients,
			tasker.NewClient(crashtest.Record(protocol.Of(client), r.fleet.journal, nil)))
	}
	if _, err := r.fleet.clients[0].RegisterTemplate(ctx,
		tasker.TemplateSource{YAML: load.Diamond, Filename: "diamond.yaml"}); err != nil {
		return err
	}
	defer r.endPrograms()
	if err := r.startPrograms(ctx); err != nil {
		return err
	}
	if err := r.work(ctx); err != nil {
		return err
	}
	return r.checkTasks(ctx)
}

// startPrograms starts `tasker worker`: two over RabbitMQ, and one that polls.
func (r *run) startPrograms(ctx context.Context) error {
	for i := range 3 {
		log, err := os.Create(filepath.Join(r.dir, fmt.Sprintf("worker%d.log", i)))
		if err != nil {
			return err
		}
		r.nodes.logs = append(r.nodes.logs, log)
		args := []string{"worker", "--server", r.nodes.Servers[i%len(r.nodes.Servers)].URL(),
			"--name", fmt.Sprintf("program%d", i), "--concurrency", "4",
			"--namespace", "*", "--handler", "foreign=sleep 0.05; cat"}
		if i < 2 {
			args = append(args, "--transport", r.brokers.through(parametersOfRabbit()))
		}
		a := &app{program: r.options.Node, args: args, log: log, group: r.group}
		if err := a.Start(ctx); err != nil {
			return err
		}
		r.fleet.programs = append(r.fleet.programs, a)
	}
	return nil
}

func (r *run) endPrograms() {
	for _, a := range r.fleet.programs {
		a.Kill()
		a.Gone()
	}
}

// unhurried is a backend for a worker that polls now and then. One that polls all the time would get most steps.
type unhurried struct{ protocol.Backend }

// Poll implements protocol.WorkerBackend.
func (b unhurried) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
	if err := clock.Sleep(ctx, 300*time.Millisecond); err != nil {
		return nil, err
	}
	return b.Backend.Poll(ctx, req)
}

func again(ctx context.Context, _ error) error {
	return clock.Sleep(ctx, 50*time.Millisecond+rand.N(100*time.Millisecond))
}

// work runs all callers under faults, until all tasks are settled.
func (r *run) work(ctx context.Context) error {
	f := r.fleet
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet, done := make(chan struct{}), make(chan struct{})
	var callers, workers errgroup.Group
	join := load.Join(cancel)
	random := func(part uint64) *rand.Rand { return rand.New(rand.NewPCG(r.seed, part)) }
	client := func(i int) *tasker.Client { return f.clients[i%len(f.clients)] }
	for i := range 6 {
		p := &load.Producer{Name: fmt.Sprintf("p%d", i), Rand: random(uint64(100 + i)), Client: client(i), Retry: again,
			Journal: f.journal, Handlers: &f.handlers}
		join(&callers, func() error { return p.Run(working, quiet) })
	}
	f.zombie = &load.Zombie{Name: "zombie", Rand: random(200), Backend: unhurried{protocol.Of(client(0))}, Retry: again,
		Journal: f.journal}
	join(&callers, func() error { return f.zombie.Run(working, quiet) })
	for i := range 3 { // a polling worker would take most of the steps; the zombie polls, and a program
		by := rabbitmq.NewTransport(r.brokers.through(parametersOfRabbit()), rabbitmq.Options{})
		join(&workers, func() error {
			return load.WorkOver(working, by, done, client(i), &f.handlers, fmt.Sprintf("sdk%d", i), random(uint64(300+i)))
		})
	}
	err := r.strikes(working, func() {})
	close(quiet)
	called := callers.Wait()
	if err == nil && called == nil {
		err = load.Settle(working, client(0), again, drainTime)
	}
	close(done)
	return errors.Join(called, err, workers.Wait())
}

// checkTasks kills the nodes, so that nothing is only in memory, and compares the answers with the end state.
func (r *run) checkTasks(ctx context.Context) error {
	r.endPrograms()
	for _, s := range r.nodes.Servers {
		s.Kill()
		s.Gone()
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	if err := r.fleet.zombie.Last(ctx); err != nil {
		return err
	}
	client := r.fleet.clients[0]
	found, err := crashtest.Read(ctx, client)
	if err != nil {
		return err
	}
	v := crashtest.Check(r.fleet.journal, found)
	for _, one := range v.Violations {
		r.Wrong(string(one.Rule), "%s", one.Text)
	}
	r.add("tasks", v.Tasks)
	r.add("steps", v.Steps)
	r.add("lost answers", v.Unknown)
	r.add("duplicate executions", v.Duplicates)
	r.add("stale refused", v.StaleRefused)
	r.countAttempts(found)
	letters, err := r.nodes.Letters(ctx, "worker-dead-letters")
	if err == nil && len(letters) > 0 {
		r.Wrong("letters", "%d messages of the dispatch were taken for others: %+v", len(letters), letters[0])
	}
	return err
}

// countAttempts counts outcomes, and those over RabbitMQ. A run without any, or a long one without an expired message,
// proves nothing.
func (r *run) countAttempts(found []crashtest.Found) {
	for _, f := range found {
		for _, a := range f.History.Attempts {
			r.count("attempts " + a.Outcome)
			if slices.ContainsFunc(overRabbit, func(name string) bool { return strings.HasPrefix(a.Worker, name) }) {
				r.count("attempts over RabbitMQ")
			}
		}
	}
	if r.counts["attempts over RabbitMQ"] == 0 || r.options.Kills >= 10 && r.counts["attempts dispatch_expired"] == 0 {
		r.Wrong("weak", "the run proves nothing: no step came over RabbitMQ, or no message expired")
	}
}
