package upkeep_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (w *world) paced(t *testing.T, rate limit.Rate, tasks int) {
	t.Helper()
	tpl := &task.Template{Namespace: "default", Name: "paced", Version: "1", Fingerprint: "f",
		Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: task.DefaultRetry(),
			RateLimit: &limit.Spec{Rate: rate}}}}
	tpl.Link()
	if _, _, err := w.RegisterTemplate(t.Context(), tpl, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
	for range tasks {
		w.submit(t, engine.Submission{Name: "paced"})
	}
}

// TestRateKeepsItsPace: ticks do not delay the next step of a rate.
func TestRateKeepsItsPace(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []int{2, 5, 50} {
		inBubble(t, time.Second, func(t *testing.T, w *world) {
			steps := 6 * perSecond
			w.paced(t, limit.Rate{Count: perSecond, Per: time.Second, Burst: 1}, steps)
			begun := time.Now()
			for n := range steps {
				if _, ok := w.take(t, time.Minute); !ok {
					t.Fatalf("step %d never came", n)
				}
			}
			want := 6*time.Second - time.Second/time.Duration(perSecond)
			// the alarm may be a millisecond late, and the next step counts from then
			slack := time.Duration(steps) * time.Millisecond
			if took := time.Since(begun); took < want || took > want+slack {
				t.Errorf("%d steps at %d/s took %v, want %v", steps, perSecond, took, want)
			}
		})
	}
}

// TestNothingIsSavedUp: without takers a rate saves up no more than its burst.
func TestNothingIsSavedUp(t *testing.T) {
	t.Parallel()
	for _, burst := range []int{1, 3} {
		inBubble(t, time.Second, func(t *testing.T, w *world) {
			const perSecond = 5
			w.paced(t, limit.Rate{Count: perSecond, Per: time.Second, Burst: burst}, 40)
			time.Sleep(30*time.Second + 70*time.Millisecond)
			begun := time.Now()
			for n := range 40 {
				if _, ok := w.take(t, time.Minute); !ok {
					t.Fatalf("step %d never came", n)
				}
				if most := float64(burst) + perSecond*time.Since(begun).Seconds(); float64(n+1) > most+1e-6 {
					t.Fatalf("step %d began after %v; a burst of %d allows %.1f by then", n+1, time.Since(begun), burst, most)
				}
			}
			if took := time.Since(begun); took > 8*time.Second+100*time.Millisecond {
				t.Errorf("40 steps at 5/s took %v", took)
			}
		})
	}
}

// TestPaceAfterRestart: a new process, which passed no step, still announces the next one.
func TestPaceAfterRestart(t *testing.T) {
	t.Parallel()
	inBubble(t, time.Second, func(t *testing.T, w *world) {
		w.paced(t, limit.Rate{Count: 2, Per: time.Second, Burst: 1}, 3)
		if _, ok := w.take(t, time.Minute); !ok {
			t.Fatal("no step came")
		}
		synctest.Wait() // for the following look at the gate
		w.stop()
		e, err := engine.New(t.Context(), w.store, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.AdmitDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case at := <-e.NextDue():
			if left := at.Sub(e.Now()); left <= 0 || left > time.Second/2 {
				t.Errorf("the next step is due in %v, want half a second at most", left)
			}
		default:
			t.Error("the next step of the rate is not told")
		}
	})
}
