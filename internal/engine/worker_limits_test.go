package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestWorkersHaveALimit(t *testing.T) {
	t.Parallel()
	e, tick := newEngine(t, engine.Options{Config: settings.Config{Limits: settings.Limits{Workers: 3}}})
	add := func(name string, want task.Code) {
		t.Helper()
		_, err := e.Register(t.Context(), task.Worker{Name: name, Host: "h"})
		if task.CodeOf(err) != want {
			t.Errorf("worker %s is registered with %v, want code %q", name, err, want)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		add(name, "")
	}
	add("d", task.Exhausted)
	for range 3 { // a known worker returns, within bounds
		add("a", "")
	}
	add("a", task.Exhausted)
	tick(24 * time.Hour)
	if _, err := e.MarkDeadWorkers(t.Context()); err != nil {
		t.Fatal(err)
	}
	add("d", "")
}

func TestWorkersServeABoundedList(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t, engine.Options{})
	long := make([]string, 300)
	for i := range long {
		long[i] = strings.Repeat("x", 250)
	}
	if _, err := e.Register(t.Context(), task.Worker{Handlers: long}); task.CodeOf(err) != task.Invalid ||
		!strings.Contains(err.Error(), "75000 bytes") {
		t.Errorf("a worker with 75,000 bytes of handlers is registered with %v", err)
	}
}

func TestPagesOfWorkers(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t, engine.Options{Config: settings.Config{Limits: settings.Limits{PageBytes: 300}}})
	for range 7 {
		if _, err := e.Register(t.Context(), task.Worker{Handlers: []string{strings.Repeat("x", 100)}}); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int][]int{2: {2, 2, 2, 1}, 100: {3, 3, 1}} {
		var got []int
		for behind := int64(0); ; {
			page, next, err := e.ListWorkers(t.Context(), time.Hour, behind, limit)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(page))
			if behind = next; behind == 0 {
				break
			}
		}
		if len(got) != len(want) || got[0] != want[0] {
			t.Errorf("with the limit %d the pages have %v workers, want %v", limit, got, want)
		}
	}
	if _, _, err := e.ListWorkers(t.Context(), time.Hour, 0, 0); task.CodeOf(err) != task.Invalid {
		t.Errorf("a page of 0 workers is %v", err)
	}
}
