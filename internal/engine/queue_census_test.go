package engine_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

type endless struct{ engine.Database }

func (s endless) QueueStore() engine.QueueStore { return endlessQueues{s.Database.QueueStore()} }

type endlessQueues struct{ engine.QueueStore }

func (endlessQueues) ReadySample(ctx context.Context, _, _ int) ([]engine.ReadyStep, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCensusInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.New(t.Context(), endless{memstore.New(&memstore.Options{Seed: 1})}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Submit(t.Context(), []engine.Submission{{TaskType: "mail"}}, false); err != nil {
			t.Fatal(err)
		}
		c, err := e.Census(t.Context())
		if err != nil || c.Queue != nil || len(c.Ready) != 1 || c.Ready[0].Steps != 1 {
			t.Errorf("the census is %+v, %v", c, err)
		}
		// nor while a more patient caller looks
		ctx, cancel := context.WithCancel(t.Context())
		stats := make(chan error, 1)
		go func() {
			_, err := e.QueueStats(ctx, nil)
			stats <- err
		}()
		synctest.Wait()
		if c, err = e.Census(t.Context()); err != nil || c.Queue != nil {
			t.Errorf("beside another look the census is %+v, %v", c, err)
		}
		cancel()
		if err := <-stats; err == nil {
			t.Error("a look that was called off has an answer")
		}
		if _, err := e.Census(ctx); err == nil {
			t.Error("a census that was called off has an answer")
		}
	})
}
