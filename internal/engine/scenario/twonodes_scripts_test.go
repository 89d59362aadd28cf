package scenario_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// TestScriptsOnTwoNodes runs every script on two nodes of one PostgreSQL, which alternate with each command and print
// the same as one node.
func TestScriptsOnTwoNodes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("TestScripts carries them out on PostgreSQL")
	}
	for _, script := range scripts(t, ".") {
		if ofOneNode[script.name] != "" {
			continue
		}
		t.Run(script.name, func(t *testing.T) {
			t.Parallel()
			compare(t, script.file, script.text, runInTurns(t, script.text))
		})
	}
}

// ofOneNode are the scripts about one node's memory, with the reason.
var ofOneNode = map[string]string{
	"outage_counts":        "the successes that it saw on a route that fails",
	"wait_signal_pairs":    "how many signals a namespace kept a moment ago",
	"worker_breaker":       "the failures of a worker, and the attempts that it lets through",
	"worker_breaker_again": "the same",
	"worker_breaker_any":   "the same",
	"worker_breaker_lost":  "the same",
}

// telling is PostgreSQL whose news the test carries to the other node.
type telling struct {
	sameIDs
	hears chan func(engine.PeerEvents)

	mu   sync.Mutex
	news []engine.PeerEvents
}

func (s *telling) Publish(n engine.PeerEvents) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news = append(s.news, n)
}

func (s *telling) Subscribe(ctx context.Context, hear func(engine.PeerEvents)) error {
	s.hears <- hear
	<-ctx.Done()
	return ctx.Err()
}

func (s *telling) take() []engine.PeerEvents {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := s.news
	s.news = nil
	return news
}

type turns struct {
	*interpreter
	open func() (engine.Database, func() engine.Database)
	next *world
	hear map[*engine.Engine]func(engine.PeerEvents)
}

func runInTurns(t *testing.T, src string) string {
	list, tail, err := parse(src)
	if err != nil {
		t.Fatal(err)
	}
	dsn, ids := postgrestest.DSN(t), task.NewSource(seedOfIDs, 0)
	open := func() (engine.Database, func() engine.Database) {
		return durable(t, func() (engine.Database, error) {
			s, err := postgres.Open(t.Context(), dsn, nil)
			return &telling{sameIDs: sameIDs{s, ids}, hears: make(chan func(engine.PeerEvents), 1)}, err
		})
	}
	store, reopen := open()
	n := &turns{interpreter: newInterpreter(t, store, reopen), open: open,
		hear: map[*engine.Engine]func(engine.PeerEvents){}}
	return carryOut(t, list, n.do) + tail
}

// do runs a command on the node whose turn it is. Both nodes restart with "crash server" and "reconfigure".
func (n *turns) do(s statement) ([]string, error) {
	out, err := n.interpreter.do(s)
	if n.world == nil {
		return out, err
	}
	here, there, failed := n.world, n.next, error(nil)
	switch {
	case there == nil:
		store, reopen := n.open()
		there, failed = newScripted(n.t, store, reopen, n.config)
		if failed == nil {
			there.blobs, there.roll = here.blobs, here.roll
			failed = there.boot()
		}
	case s.words[0] == "reconfigure", s.words[0] == "crash" && s.words[1] == "server":
		there.cfg, there.roll = here.cfg, here.roll
		there.set(here.now)
		failed = there.restart()
	}
	if failed != nil {
		return nil, scriptError{failed}
	}
	there.set(here.now)
	n.listen(here)
	n.listen(there)
	if failed := n.tell(here, there); failed != nil {
		return nil, scriptError{failed}
	}
	n.next, n.world = here, there
	return out, err
}

func (n *turns) listen(w *world) {
	if n.hear[w.engine] != nil {
		return
	}
	go func(e *engine.Engine) { _ = e.SubscribePeers(n.t.Context()) }(w.engine)
	n.hear[w.engine] = <-w.store.(*telling).hears
}

func (n *turns) tell(here, there *world) error {
	for _, news := range here.store.(*telling).take() {
		n.hear[there.engine](news)
	}
	return errors.Join(there.engine.HandlePeerEvents(n.t.Context()), there.engine.PollPeers(n.t.Context()))
}
