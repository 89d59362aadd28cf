package upkeep_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/task"
)

type host struct {
	turn   bool
	asked  []string
	given  int // released turns
	resume int
	over   []string // stepped over rows
}

func (h *host) StepOver(_ context.Context, loop string, rows *due.Error) error {
	h.over = append(h.over, loop+": "+rows.Error())
	return nil
}

func (h *host) Now() task.Instant { return task.FromTime(time.Now()) }

func (h *host) Turn(_ context.Context, loop string, hold time.Duration) (bool, error) {
	if hold == 0 {
		h.given++
		return false, nil
	}
	h.asked = append(h.asked, loop+" "+hold.String())
	return h.turn, nil
}

func (h *host) Resume(context.Context) error {
	h.resume++
	return nil
}

// TestRunnerStepsOver: stepped-over rows end no run, and operators learn of them.
func TestRunnerStepsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, runs := &host{turn: true}, 0
		r := upkeep.NewRunner(h, slog.New(slog.DiscardHandler), time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = r.Run(ctx, upkeep.Loop{Name: "timers", Every: time.Minute, Once: func(context.Context) (int, bool, error) {
			runs++
			return 1, runs < 2, &due.Error{What: "the row", Faults: []due.Fault{{Row: "7", Err: errors.New("full")}}}
		}})
		if runs != 2 || len(h.over) != 2 || h.over[0] != "timers: the row 7: full" {
			t.Errorf("ran %d times, and told of %q", runs, h.over)
		}
	})
}

// TestRunnerRunsAnyLoop: a name, an interval and a function suffice for turns, retries and draining.
func TestRunnerRunsAnyLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := &host{turn: true}
		r := upkeep.NewRunner(h, slog.New(slog.NewTextHandler(&log, nil)), time.Hour)
		var ran []time.Duration
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := r.Run(ctx, upkeep.Loop{Name: "sweeping", Every: 2 * time.Second,
			Once: func(context.Context) (int, bool, error) {
				ran = append(ran, time.Since(began))
				if len(ran) == 1 {
					return 0, false, errors.New("away")
				}
				return 1, len(ran) == 2, nil
			}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
		want := []time.Duration{0, 2 * time.Second, 2 * time.Second, 4 * time.Second}
		if len(ran) != len(want) || ran[1] != want[1] || ran[2] != want[2] || ran[3] != want[3] {
			t.Errorf("ran at %v, want %v", ran, want)
		}
		if len(h.asked) != 4 || h.asked[0] != "sweeping 6s" || h.given != 1 {
			t.Errorf("asked for the turns %v, and gave up %d", h.asked, h.given)
		}
		if !strings.Contains(log.String(), "loop=sweeping error=away") {
			t.Errorf("the log is %s", log.String())
		}
	})
}

// TestRunnerKeepsToTurns: a loop without its turn does nothing, one that runs everywhere requests no turn, and an
// unable one leaves it to others.
func TestRunnerKeepsToTurns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		turn  bool
		loop  upkeep.Loop
		ran   int
		asked int
	}{
		{"OfAnother", false, upkeep.Loop{}, 0, 3},
		{"Ours", true, upkeep.Loop{}, 3, 3},
		{"Everywhere", false, upkeep.Loop{Everywhere: true}, 3, 0},
		{"NotAble", true, upkeep.Loop{Able: func() bool { return false }}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &host{turn: tt.turn}
				ran := 0
				l := tt.loop
				l.Name, l.Every = "l", time.Second
				l.Once = func(context.Context) (int, bool, error) {
					ran++
					return 0, false, nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
				defer cancel()
				_ = upkeep.NewRunner(h, slog.New(slog.DiscardHandler), time.Hour).Run(ctx, l)
				if ran != tt.ran || len(h.asked) != tt.asked {
					t.Errorf("ran %d times and asked for %d turns, want %d and %d", ran, len(h.asked), tt.ran, tt.asked)
				}
			})
		})
	}
}

// TestRunnerResumesAfterAnOutage: after a long outage leases are extended before each batch, until one reaches the
// store.
func TestRunnerResumesAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{turn: true}
		n := 0
		ctx, cancel := context.WithTimeout(t.Context(), 12500*time.Millisecond)
		defer cancel()
		_ = upkeep.NewRunner(h, slog.New(slog.DiscardHandler), 5*time.Second).Run(ctx,
			upkeep.Loop{Name: "l", Every: time.Second,
				Once: func(context.Context) (int, bool, error) {
					if n++; n < 9 && n > 1 {
						return 0, false, errors.New("away")
					}
					if want := min(n/9*3, 3); h.resume != want {
						t.Errorf("batch %d: resumed %d times, want %d", n, h.resume, want)
					}
					return 0, false, nil
				}})
	})
}
