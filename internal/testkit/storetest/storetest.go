// Package storetest is the conformance suite of engine.Database, so that the engine works on every store.
//
// A store's test opens an empty store and calls Run; a durable one also calls RunDurable. A rule that a store must keep
// belongs here unless it is about its particular database.
package storetest

import (
	"slices"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
)

// Run runs the suite. open returns a new, empty store, and closes it when t ends. without names tests that a store is
// not meant to pass, as GROUP/NAME.
func Run(t *testing.T, open func(t *testing.T) engine.Database, without ...string) {
	t.Helper()
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"Tasks", taskCases()},
		{"Contexts", contextCases()},
		{"Deletion", deletionCases()},
		{"Values", valueCases()},
		{"Queue", queueCases()},
		{"Places", placeCases()},
		{"Looks", lookCases()},
		{"Leases", leaseCases()},
		{"Records", recordCases()},
		{"Cases", caseCases()},
		{"Occurrences", occurrenceCases()},
		{"CaseLists", caseListCases()},
		{"Watches", watchCases()},
		{"Keys", keyCases()},
		{"Ordering", orderingCases()},
		{"Children", childCases()},
		{"Gates", gateCases()},
		{"OperatorLimits", operatorLimitCases()},
		{"Unique", uniqueCases()},
		{"Sessions", sessionCases()},
		{"Pauses", pauseCases()},
		{"Outages", outageCases()},
		{"Checkpoints", checkpointCases()},
		{"Logs", logCases()},
		{"LargeResults", largeResultCases()},
		{"Signals", signalCases()},
		{"Templates", templateCases()},
		{"Registry", registryCases()},
		{"Lists", listCases()},
		{"Statuses", statusCases()},
		{"Transactions", transactionCases()},
		{"Hooks", hookCases()},
		{"Concurrency", concurrencyCases()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.cases {
				if slices.Contains(without, g.name+"/"+c.name) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(newFixture(t, open(t)))
				})
			}
		})
	}
}

type testCase struct {
	name string
	run  func(f *fixture)
}
