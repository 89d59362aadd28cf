package scenario_test

import (
	"fmt"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

func TestNodeScripts(t *testing.T) {
	t.Parallel()
	for _, script := range scripts(t, "nodes") {
		t.Run(script.name, func(t *testing.T) {
			t.Parallel()
			script.check(t, runOnNodes(t, script.text), true)
		})
	}
}

type twoNodes struct {
	sides    map[string]*side
	observer *observer
	schedule *schedule // nil: nothing is held
}

type side struct {
	*interpreter
	store *pausingStore
	actor *actor
	out   []string
	err   error
}

func runOnNodes(t *testing.T, src string) string {
	list, tail, err := parse(src)
	if err != nil {
		t.Fatal(err)
	}
	dsn := postgrestest.DSN(t)
	n := &twoNodes{sides: map[string]*side{}}
	for i, name := range []string{"A", "B"} {
		s, err := openPausing(t.Context(), dsn, uint64(i)+1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeStore(t, s.Store) })
		n.sides[name] = &side{interpreter: newInterpreter(t, s, nil), store: s}
	}
	n.sides["B"].tasks, n.sides["B"].workers = n.sides["A"].tasks, n.sides["A"].workers
	if n.observer, err = openObserver(t, dsn); err != nil {
		t.Fatal(err)
	}
	for _, side := range n.sides {
		side.store.observer = n.observer
	}
	t.Cleanup(n.release)
	printed := carryOut(t, list, n.do)
	for name, side := range n.sides {
		if side.actor != nil {
			t.Fatalf("the script ends while %s holds something", name)
		}
	}
	return printed + tail
}

func (n *twoNodes) release() {
	for range 2 {
		for _, side := range n.sides {
			if side.actor != nil && side.actor.phase != ended {
				_ = n.schedule.drive(side.actor, "")
			}
		}
	}
}

// do runs a command on both nodes, or on the node that it begins with.
func (n *twoNodes) do(s statement) ([]string, error) {
	a, b := n.sides["A"], n.sides["B"]
	switch s.words[0] {
	case "config":
		_, err := b.do(s)
		return nil, firstError(err, func() error { _, err := a.do(s); return err }())
	case "advance":
		out, err := a.do(s)
		_, again := b.do(s)
		return out, firstError(err, again)
	case "look":
		for _, side := range n.sides {
			if err := side.look(); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	side := n.sides[s.words[0]]
	if side == nil || len(s.words) < 2 {
		return nil, badScript("want A or B and a command, or config, advance, look")
	}
	s.words = s.words[1:]
	switch s.words[0] {
	case "hold":
		if len(s.words) < 3 {
			return nil, badScript("hold at what, and which command?")
		}
		at := s.words[1]
		s.words = s.words[2:]
		return n.begin(side, s, at)
	case "go":
		return n.goOn(side)
	}
	if n.schedule == nil {
		return side.do(s)
	}
	return n.begin(side, s, "")
}

// begin begins a command, up to a pause; with "" to its end, or until it waits for a lock.
func (n *twoNodes) begin(side *side, s statement, hold string) ([]string, error) {
	if side.actor != nil {
		return nil, badScript("the node has something under way")
	}
	if n.schedule == nil {
		n.schedule = newSchedule(n.observer.waiting)
	}
	schedule := n.schedule
	schedule.add(s.words[0], func(a *actor) {
		side.store.schedule.Store(&turn{schedule, a})
		defer side.store.schedule.Store(nil)
		side.out, side.err = side.do(s)
	})
	side.actor = schedule.actors[len(schedule.actors)-1]
	if err := schedule.drive(side.actor, hold); err != nil {
		return nil, scriptError{err}
	}
	switch {
	case side.actor.phase == ended && hold != "":
		return nil, badScript("the command ends without coming to %q:\n%s", hold, schedule)
	case side.actor.phase == running:
		return []string{"waits for a lock"}, nil
	case side.actor.phase == paused:
		return nil, nil
	}
	return n.ended(side)
}

func (n *twoNodes) goOn(side *side) ([]string, error) {
	if side.actor == nil {
		return nil, badScript("nothing is under way")
	}
	if err := n.schedule.drive(side.actor, ""); err != nil {
		return nil, scriptError{err}
	}
	if side.actor.phase != ended {
		return []string{"waits for a lock"}, nil
	}
	return n.ended(side)
}

func (n *twoNodes) ended(side *side) ([]string, error) {
	out, err := side.out, side.err
	side.actor, side.out, side.err = nil, nil, nil
	if n.sides["A"].actor == nil && n.sides["B"].actor == nil {
		n.schedule = nil
	}
	if wrong := side.store.violations(); wrong != nil {
		return nil, scriptError{wrong}
	}
	return out, err
}

// drive lets one actor continue until it pauses at a place, ends, or waits for a lock.
func (s *schedule) drive(a *actor, until string) error {
	for {
		if err := s.settle(); err != nil {
			return err
		}
		if a.phase != paused || until != "" && a.at == until {
			return nil
		}
		s.note("%s %s", a.name, a.at)
		a.phase = running
		a.resume <- struct{}{}
	}
}

func (in *interpreter) retain(*args) ([]string, error) {
	n, err := in.engine.Retain(in.ctx)
	return []string{fmt.Sprint("at most ", n, " of a kind deleted")}, err
}

var _ engine.Cluster = (*pausingStore)(nil)

func (s *side) look() error {
	if err := s.begun(); err != nil {
		return err
	}
	return s.engine.PollPeers(s.ctx)
}
