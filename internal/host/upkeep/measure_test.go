package upkeep_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Throughput, recoveries and rates are the cluster's on every node; an ended node stops counting.
func TestMeasuredByTheCluster(t *testing.T) {
	within(t, func(t *testing.T) {
		_, a, b := pair(t, settings.Config{})
		w := a.register(task.Worker{})
		var last task.ID
		for range 40 {
			last = b.submit(engine.Submission{TaskType: "job", Queued: true})
		}
		for range 30 {
			time.Sleep(500 * time.Millisecond)
			a.settle(a.take(w, time.Second), engine.Result{Status: engine.ResultCompleted})
		}
		time.Sleep(2 * engine.ReportInterval)
		for name, n := range map[string]*node{"who did it": a, "the other": b} {
			s, err := n.QueueStats(t.Context(), nil)
			if err != nil || s.Measured.CompletedLastMinute != 30 || s.Measured.HandedLastMinute != 30 {
				t.Errorf("%s tells of %+v, %v", name, s.Measured, err)
			}
			_, steps, err := n.Steps(t.Context(), last)
			if err != nil {
				t.Fatal(err)
			}
			p, err := n.QueuePlace(t.Context(), steps[0])
			if err != nil || p.Ahead != 9 || p.Wait < 4*time.Second || p.Wait > 6*time.Second {
				t.Errorf("%s sees the last at %+v, %v", name, p, err)
			}
		}
		a.stop()
		time.Sleep(time.Minute)
		if s, err := b.QueueStats(t.Context(), nil); err != nil || s.Measured.CompletedLastMinute != 0 {
			t.Errorf("after its end the other tells of %+v, %v", s.Measured, err)
		}
	})
}
