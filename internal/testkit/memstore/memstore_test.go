package memstore_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
	"github.com/taskerhq/tasker/internal/testkit/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) engine.Database { return memstore.New(&memstore.Options{Seed: 1}) })
}

// The suite's functions can run twice, like those of the engine.
func TestConformanceRehearsed(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) engine.Database { return memstore.New(&memstore.Options{Seed: 2, Rehearse: true}) })
}
