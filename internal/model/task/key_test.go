package task_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestStrictKeyOrder(t *testing.T) {
	t.Parallel()
	year2112 := task.At(time.Date(2112, 1, 1, 0, 0, 0, 0, time.UTC))
	instant := rapid.Int64Range(0, int64(year2112))
	level := rapid.IntRange(0, task.MaxPriority)
	rapid.Check(t, func(t *rapid.T) {
		p, q := level.Draw(t, "p"), level.Draw(t, "q")
		a, b := task.Instant(instant.Draw(t, "a")), task.Instant(instant.Draw(t, "b"))
		ka, kb := task.StrictKey(p, a), task.StrictKey(q, b)
		var want bool
		switch {
		case p != q:
			want = p > q
		default:
			want = a < b
		}
		if got := ka < kb; got != want {
			t.Fatalf("level %d at %d before level %d at %d: %v, want %v", p, a, q, b, got, want)
		}
		if ka < 0 {
			t.Fatalf("the key %d of level %d is negative", ka, p)
		}
	})
}

func TestStrictKeyAtTheBorders(t *testing.T) {
	t.Parallel()
	last := task.At(time.Date(2112, 1, 1, 0, 0, 0, 0, time.UTC))
	for p := range task.MaxPriority {
		if task.StrictKey(p+1, last) >= task.StrictKey(p, 0) {
			t.Errorf("the youngest of level %d goes after the oldest of level %d", p+1, p)
		}
	}
}

func TestInstant(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 891_234_567, time.FixedZone("x", 3600))
	i := task.At(at)
	if got, want := i.Time(), at.UTC().Truncate(time.Microsecond); !got.Equal(want) || got.Location() != time.UTC {
		t.Errorf("%s, want %s", got, want)
	}
	if got := i.Add(90 * time.Second).Sub(i); got != 90*time.Second {
		t.Errorf("a minute and a half later is %s later", got)
	}
	if p := i.Ptr(); p == nil || !p.Equal(i.Time()) {
		t.Errorf("pointer to %v, want %v", p, i.Time())
	}
	if task.At(time.Time{}) != 0 || !task.Instant(0).Time().IsZero() || task.Instant(0).Ptr() != nil {
		t.Error("the zero time and the zero instant are not each other")
	}
}
