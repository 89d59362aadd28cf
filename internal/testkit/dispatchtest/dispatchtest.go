// Package dispatchtest is the conformance suite of engine.Dispatcher, so that the engine works on any of them. Its
// standard is the dispatcher of internal/testkit/dispatchtest/memory.
//
// A dispatcher's test calls Run with a way to open dispatchers on empty content, and RunLoss with a server that can be
// flushed and restarted.
package dispatchtest

import (
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
)

// System is content shared by several processes. Open returns a dispatcher like that of a further process; it is closed
// when t ends.
type System interface {
	Open(t testing.TB) engine.Dispatcher
}

// Server is a System on a separate server.
type Server interface {
	System
	Flush(t testing.TB)
	// Restart stops and starts the server; it may keep its content.
	Restart(t testing.TB)
}

type testCase struct {
	name string
	run  func(f *fixture)
}

// Run runs the suite on systems without content.
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

// RunLoss runs the tests that need a separate server.
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
