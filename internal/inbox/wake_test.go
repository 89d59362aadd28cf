package inbox_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
)

// A resumed source is read without waiting for the interval between looks.
func TestChangedSourceIsReadAtOnce(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		pause := func(paused bool) {
			if _, err := r.PauseSource(t.Context(), "default", "orders", paused, inbox.By{}); err != nil {
				t.Fatal(err)
			}
		}
		pause(true)
		r.broker.mu.Lock()
		r.broker.reads = [][]inbox.Arrival{{dead(1, "Timeout")}}
		r.broker.mu.Unlock()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		tick := make(chan time.Time)
		go func() {
			defer close(ended)
			capture.NewReaders(r.Capturer, "n1", slog.New(slog.DiscardHandler)).Run(ctx, tick)
		}()
		tick <- noon // the first look is over
		tick <- noon
		pause(false)
		waiting := func() bool {
			r.broker.mu.Lock()
			defer r.broker.mu.Unlock()
			return len(r.broker.reads) > 0
		}
		for until := time.Now().Add(20 * time.Second); waiting(); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("the message was not captured")
			}
		}
		stop()
		<-ended
		r.want("groups", len(r.groups()), 1)
	})
}
