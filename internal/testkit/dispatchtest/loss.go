package dispatchtest

import (
	"errors"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

type lossCase struct {
	name string
	run  func(f *fixture, s Server)
}

func lossCases() []lossCase {
	return []lossCase{
		{"Flush", flush},
		{"FlushWhileFilled", flushWhileFilled},
		{"Restart", restart},
		{"RestartBeforeCheck", restartBeforeCheck},
		{"RestartWhileFilled", restartWhileFilled},
	}
}

func flush(f *fixture, s Server) {
	f.started(1)
	other := s.Open(f)
	f.ok(other.Check(f.Context()))
	s.Flush(f)
	allLost(f, f.d)
	f.lost("Check", f.d.Check(f.Context()))
	refill(f, other)
	f.lost("Check of another", other.Check(f.Context()))
	goesOn(f, other)
}

// refill fills the content again, during changes in another process.
func refill(f *fixture, other engine.Dispatcher) {
	f.Helper()
	f.reload(f.d)
	f.offer(steps(2, 3)...)
	f.ok(other.Offer(f.Context(), steps(4, 4))) // becomes ready meanwhile
	f.ok(f.d.Loaded(f.Context()))
}

// goesOn lets the other process learn of it.
func goesOn(f *fixture, other engine.Dispatcher) {
	f.Helper()
	f.ok(other.Check(f.Context()))
	for _, d := range []engine.Dispatcher{f.d, other} {
		f.ok(d.Check(f.Context()))
		f.same("held", engine.Hold{}, findIn(f, d, 1))
	}
	f.same("claimed", numbered(2, 3, 4), ids(f.claims(claim(5))[0]))
}

// A partial filling is lost before it is complete.
func flushWhileFilled(f *fixture, s Server) {
	f.reload(f.d)
	f.offer(step(1))
	s.Flush(f)
	for verb, err := range fillers(f, f.d) {
		f.lost(verb, err)
	}
	f.lost("Loaded", f.d.Loaded(f.Context()))
	f.reload(f.d)
	f.ok(f.d.Loaded(f.Context()))
	allWell(f, f.d)
}

// A restarted server may have lost its last moments, even if it has kept the rest.
func restart(f *fixture, s Server) {
	f.started(1)
	other, late := s.Open(f), s.Open(f)
	f.ok(other.Check(f.Context()))
	f.ok(late.Check(f.Context()))
	s.Restart(f)
	reached(f, f.d)
	f.lost("Check", f.d.Check(f.Context()))
	reached(f, other)
	refill(f, other)
	goesOn(f, other)
	await.Until(f, "the late one reaches the server", func() bool {
		mine, err := late.Reload(f.Context(), turn)
		f.same("the turn of one who comes late", false, mine)
		return err == nil
	})
}

// reached waits until the server answers, under the new run.
func reached(f *fixture, d engine.Dispatcher) {
	f.Helper()
	await.Until(f, "the server answers", func() bool {
		_, err := d.Waiting(f.Context(), []int64{route})
		if err == nil {
			f.Fatal("Waiting trusts a server that was restarted")
		}
		return errors.Is(err, engine.ErrDispatchLost)
	})
}

// The first verb that reaches a restarted server reports the restart.
func restartBeforeCheck(f *fixture, s Server) {
	f.started(1)
	s.Restart(f)
	reached(f, f.d)
	allLost(f, f.d)
	f.reload(f.d)
	f.ok(f.d.Loaded(f.Context()))
	allWell(f, f.d)
}

// A restart may lose a part of the filling, even if the server kept the rest.
func restartWhileFilled(f *fixture, s Server) {
	f.reload(f.d)
	f.offer(steps(1, 3)...)
	s.Restart(f)
	await.Until(f, "the server answers", func() bool {
		err := f.d.Loaded(f.Context())
		if err == nil {
			f.Fatal("Loaded trusts a server that was restarted")
		}
		return errors.Is(err, engine.ErrDispatchLost)
	})
	f.lost("Check", f.d.Check(f.Context()))
	await.Until(f, "the turn before runs out", func() bool { return f.extended(turn) })
	f.ok(f.d.Loaded(f.Context()))
	allWell(f, f.d)
}
