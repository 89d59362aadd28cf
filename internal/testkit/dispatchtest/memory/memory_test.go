package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

// server exposes a Server's failures to the suite.
type server struct{ *memory.Server }

func (s server) Open(testing.TB) engine.Dispatcher { return s.Server.Open() }
func (s server) Flush(testing.TB)                  { s.Server.Flush() }
func (s server) Restart(testing.TB)                { s.Server.Restart() }

func TestDispatcher(t *testing.T) {
	t.Parallel()
	dispatchtest.Run(t, func(testing.TB) dispatchtest.System { return server{memory.NewServer()} })
}

func TestLoss(t *testing.T) {
	t.Parallel()
	dispatchtest.RunLoss(t, func(testing.TB) dispatchtest.Server { return server{memory.NewServer()} })
}

func TestFail(t *testing.T) {
	t.Parallel()
	s := memory.NewServer()
	d := s.Open()
	down := errors.New("out of reach")
	s.Fail(down)
	if _, err := d.Reload(t.Context(), time.Minute); !errors.Is(err, down) {
		t.Errorf("Reload: %v, want %v", err, down)
	}
	if err := d.Check(t.Context()); !errors.Is(err, down) {
		t.Errorf("Check: %v, want %v", err, down)
	}
	if err := d.Offer(t.Context(), nil); !errors.Is(err, down) {
		t.Errorf("Offer: %v, want %v", err, down)
	}
	s.Fail(nil)
	if err := d.Check(t.Context()); !errors.Is(err, engine.ErrDispatchLost) {
		t.Errorf("Check: %v, want %v", err, engine.ErrDispatchLost)
	}
}
