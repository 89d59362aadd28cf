package inbox_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/seam"
)

// Lost messages are reported once, with their number, and reading continues.
func TestGone(t *testing.T) {
	t.Parallel()
	var calls, messages atomic.Int64
	t.Run("Databases", func(t *testing.T) {
		onEveryDatabase(t, readPastGap, func(o *node.Options) {
			o.Gone = func(_, source string, n int64) {
				if source == "orders" {
					calls.Add(1)
					messages.Add(n)
				}
			}
		})
	})
	if calls.Load() != 2 || messages.Load() != 2*41 {
		t.Errorf("two databases were told %d times of %d messages", calls.Load(), messages.Load())
	}
}

func readPastGap(t *testing.T, r *rig) {
	r.broker.gone = &seam.GoneError{Messages: 41, Why: "retention"}
	r.broker.reads = [][]inbox.Arrival{{dead(1, "Timeout")}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	tick := make(chan time.Time)
	go func() {
		defer close(ended)
		capture.NewReaders(r.Capturer, "n1", slog.New(slog.DiscardHandler)).Run(ctx, tick)
	}()
	for until := time.Now().Add(20 * time.Second); len(r.groups()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the source is not read on")
		}
		select {
		case tick <- noon: // a pass that the database has refused is made up for by the next one
		default:
		}
	}
	stop()
	<-ended
}
