package telemetry_test

import (
	"errors"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// An unreachable dispatcher differs from a missing one.
func TestDispatch(t *testing.T) {
	t.Parallel()
	show := func(t *testing.T, e *engine.Engine) string {
		t.Helper()
		tel := open(t, telemetry.Options{})
		tel.Watch(e.Census)
		return scrape(t, tel).value("tasker_dispatch_active")
	}
	store := memstore.New(nil)
	t.Cleanup(func() { _ = store.Close() })
	server := memory.NewServer()
	with := func(t *testing.T, d engine.Dispatcher) *engine.Engine {
		t.Helper()
		e, err := engine.New(t.Context(), store, engine.Options{Dispatcher: d})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if got := show(t, with(t, nil)); got != "" {
		t.Errorf("without a dispatcher: %q", got)
	}
	e := with(t, server.Open())
	if got := show(t, e); got != "0" {
		t.Errorf("before it was filled: %q", got)
	}
	tend := func() {
		t.Helper()
		if err := e.MaintainDispatch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tend()
	if got := show(t, e); got != "1" {
		t.Errorf("filled: %q", got)
	}
	server.Fail(errors.New("connection refused"))
	tend()
	if got := show(t, e); got != "0" {
		t.Errorf("out of reach: %q", got)
	}
}
