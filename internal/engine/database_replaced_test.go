package engine_test

import (
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
)

// A poll gets a ready step even while everything is forgotten or read again.
func TestPollWhileForgotten(t *testing.T) {
	c := newCrew(t)
	w := c.worker("pack")
	submit(t, c.Engine, engine.Submission{TaskType: "pack"}, engine.Submission{TaskType: "pack"})
	var forgetting sync.WaitGroup
	done := make(chan struct{})
	forgetting.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				c.Forget()
			}
		}
	})
	defer forgetting.Wait()
	defer close(done)
	for n := range 500 {
		leases, _, err := c.Poll(t.Context(), w.ID, 1, 0, true)
		if err != nil || len(leases) != 1 {
			t.Fatalf("poll %d brings %d steps, %v", n, len(leases), err)
		}
		back := engine.Result{Step: leases[0].Step.ID, Token: leases[0].Step.Token, Status: engine.ResultReleased}
		if _, err := c.Settle(t.Context(), []engine.Result{back}); err != nil {
			t.Fatal(err)
		}
	}
}
