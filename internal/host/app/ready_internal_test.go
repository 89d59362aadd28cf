package app

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
)

func TestReadyWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang, asked := make(chan struct{}), atomic.Int32{}
		r := &readiness{ask: func(context.Context) error {
			asked.Add(1)
			<-hang // ignores ctx
			return nil
		}}
		for range 3 {
			began := time.Now()
			if err := r.within(t.Context()); tasker.ErrorCode(err) != tasker.CodeUnavailable {
				t.Errorf("ready is %v", err)
			}
			if took := time.Since(began); took > readyTimeout {
				t.Errorf("the answer took %v", took)
			}
		}
		if asked := asked.Load(); asked != 1 {
			t.Errorf("a store that hangs was asked %d times at once", asked)
		}
		close(hang)
		synctest.Wait()
		if err := r.within(t.Context()); err != nil {
			t.Errorf("ready is %v once the store answers", err)
		}
	})
}
