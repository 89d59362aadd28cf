// Package dispatchtest is the conformance suite of engine.Dispatcher: what every
// dispatcher has to pass, so that the engine need not know which one it runs on.
// Its measure is the dispatcher of internal/testkit/dispatchtest/memory.
//
// A dispatcher's own test file calls Run with a way to open dispatchers on empty
// content, and RunLoss with a server that may be flushed and restarted.
package dispatchtest

import (
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
)

// System is content that several processes share. Open returns a dispatcher like
// that of one more process; it is closed when t ends.
type System interface {
	Open(t testing.TB) engine.Dispatcher
}

// Server is a System of its own server.
type Server interface {
	System
	// Flush makes the server forget everything.
	Flush(t testing.TB)
	// Restart stops the server and starts it again; it may still know what it knew.
	Restart(t testing.TB)
}

type testCase struct {
	name string
	run  func(f *fixture)
}

// Run runs the suite on systems whose content is empty.
func Run(t *testing.T, open func(t testing.TB) System) {
	t.Helper()
	for _, g := range []struct {
		name  string
		cases []testCase
	}{
		{"Queue", queueCases()},
		{"Counts", countCases()},
		{"Leases", leaseCases()},
		{"Looking", lookingCases()},
		{"Remove", removeCases()},
		{"Filling", fillingCases()},
		{"Listening", listeningCases()},
		{"Concurrency", concurrencyCases()},
	} {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(newFixture(t, open(t)))
				})
			}
		})
	}
	t.Run("Model", func(t *testing.T) {
		t.Parallel()
		likeTheModel(t, open(t))
	})
}

// RunLoss runs what needs a server of its own.
func RunLoss(t *testing.T, start func(t testing.TB) Server) {
	t.Helper()
	for _, c := range lossCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			c.run(newFixture(t, s), s)
		})
	}
}
