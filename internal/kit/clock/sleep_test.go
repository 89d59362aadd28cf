package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := clock.Sleep(t.Context(), time.Hour); err != nil || time.Since(begin) != time.Hour {
			t.Errorf("slept %v, %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin = time.Now()
		if err := clock.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("slept %v, %v", time.Since(begin), err)
		}
	})
}
