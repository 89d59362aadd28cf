package task_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestExpiredDispatches(t *testing.T) {
	t.Parallel()
	const x, f = task.DispatchExpired, task.Failed
	other := task.Attempt{StepID: task.ID{9}, Token: 1, Number: 1, Outcome: x}
	for name, c := range map[string]struct {
		now     int
		numbers []int
		ends    []task.Outcome
		want    int
	}{
		"None":               {0, nil, nil, 0},
		"All":                {3, []int{1, 2, 3}, []task.Outcome{x, x, x}, 3},
		"Some":               {3, []int{1, 2, 3}, []task.Outcome{x, f, x}, 2},
		"Reset":              {0, []int{1, 2, 3}, []task.Outcome{x, x, x}, 0},
		"AfterReset":         {1, []int{1, 2, 1}, []task.Outcome{x, x, x}, 1},
		"LongAfterReset":     {3, []int{1, 2, 1, 2, 3}, []task.Outcome{x, x, f, f, x}, 1},
		"ResetAfterOne":      {1, []int{1, 1}, []task.Outcome{x, x}, 1},
		"ReplayKeepsNumbers": {4, []int{1, 2, 3, 4}, []task.Outcome{x, x, x, x}, 4},
	} {
		charged := []task.Attempt{other}
		for i := len(c.numbers) - 1; i >= 0; i-- {
			charged = append(charged, task.Attempt{StepID: task.ID{1}, Token: int64(i + 1), Number: c.numbers[i],
				Outcome: c.ends[i]})
		}
		if got := task.ExpiredDispatches(charged, &task.Step{ID: task.ID{1}, Attempts: c.now}); got != c.want {
			t.Errorf("%s: %d dispatches have expired, want %d", name, got, c.want)
		}
	}
}
