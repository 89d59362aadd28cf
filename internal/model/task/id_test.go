package task_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

var birth = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestIDParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seq := rapid.Int64Range(0, 1<<60-1).Draw(t, "seq")
		low := rapid.Uint64Range(0, 1<<62-1).Draw(t, "low")
		id := task.MakeID(seq, low)
		if id.Seq() != seq || id.Low() != low {
			t.Fatalf("made of %d and %d, gives %d and %d", seq, low, id.Seq(), id.Low())
		}
		u := uuid.UUID(id)
		if u.Version() != 7 || u.Variant() != uuid.RFC4122 || u.String() != id.String() {
			t.Fatalf("%s: version %d, variant %v; printed as %s", u, u.Version(), u.Variant(), id)
		}
		back, err := task.ParseID(id.String())
		if err != nil || back != id {
			t.Fatalf("%s parsed as %s, %v", id, back, err)
		}
	})
}

func TestIDTimeIsReadable(t *testing.T) {
	t.Parallel()
	id := task.NewSource(1, 0).Take(birth, 1)
	sec, nsec := uuid.UUID(id).Time().UnixTime()
	if got := time.Unix(sec, nsec).UTC(); !got.Equal(birth) {
		t.Errorf("the UUID says %s, want %s", got, birth)
	}
	if got := id.Seq(); got != task.SeqFloor(birth) {
		t.Errorf("sequence %d, want the floor %d", got, task.SeqFloor(birth))
	}
}

func TestParseIDRefuses(t *testing.T) {
	t.Parallel()
	good := task.MakeID(5, 6).String()
	for _, s := range []string{
		"", "x", good[1:], good + "0", strings.ReplaceAll(good, "-", ""), "{" + good[1:35] + "}",
		"g" + good[1:], strings.Replace(good, "-", "_", 1), good[:35] + "\x00", "--------" + good[8:],
	} {
		if id, err := task.ParseID(s); err == nil || !id.IsZero() {
			t.Errorf("%q parsed as %s", s, id)
		}
	}
}

// IDs of one source increase by sequence, bytes and text, even when the clock stops or goes back.
func TestSourceOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := task.NewSource(rapid.Uint64().Draw(t, "seed"), 0)
		clock := birth
		last := task.MakeID(0, 0)
		for range rapid.IntRange(1, 50).Draw(t, "tasks") {
			clock = clock.Add(time.Duration(rapid.Int64Range(-5000, 5000).Draw(t, "ms")) * time.Millisecond)
			steps := rapid.IntRange(0, 5).Draw(t, "steps")
			id := src.Take(clock, 1+steps)
			for i := range 1 + steps {
				one := id
				if i > 0 {
					one = src.Step(id, i)
				}
				if one.Seq() != id.Seq()+int64(i) {
					t.Fatalf("step %d has sequence %d after the task's %d", i, one.Seq(), id.Seq())
				}
				if one.Seq() <= last.Seq() || bytes.Compare(one[:], last[:]) <= 0 || one.String() <= last.String() {
					t.Fatalf("%s does not come after %s", one, last)
				}
				if src.ID(one.Seq()) != one {
					t.Fatalf("%s rebuilt from its sequence is %s", one, src.ID(one.Seq()))
				}
				last = one
			}
		}
	})
}

func TestSourceContinues(t *testing.T) {
	t.Parallel()
	first := task.NewSource(9, 0).Take(birth, 10)
	end := first.Seq() + 9
	next := task.NewSource(9, end).Take(birth.Add(-time.Hour), 1)
	if next.Seq() != end+1 {
		t.Errorf("after a restart and with the clock set back: %d, want %d", next.Seq(), end+1)
	}
	if later := task.NewSource(9, end).Take(birth.Add(time.Hour), 1); later.Seq() != task.SeqFloor(birth.Add(time.Hour)) {
		t.Errorf("an hour later: %d, want the clock's %d", later.Seq(), task.SeqFloor(birth.Add(time.Hour)))
	}
}

func TestSourcesDiffer(t *testing.T) {
	t.Parallel()
	a, b := task.NewSource(1, 0).Take(birth, 1), task.NewSource(2, 0).Take(birth, 1)
	if a.Seq() != b.Seq() || a == b {
		t.Errorf("two sources at one time gave %s and %s; want one sequence and other low bits", a, b)
	}
}

func TestSourceConcurrent(t *testing.T) {
	t.Parallel()
	const callers, each, steps = 16, 500, 3
	src := task.NewSource(7, 0)
	taken := make([][]task.ID, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for range each {
				taken[c] = append(taken[c], src.Take(birth, 1+steps))
			}
		})
	}
	wg.Wait()
	owner := map[int64]task.ID{}
	for c := range callers {
		for i, id := range taken[c] {
			if i > 0 && id.Seq() <= taken[c][i-1].Seq() {
				t.Fatalf("a caller got %s after %s", id, taken[c][i-1])
			}
			for n := range int64(1 + steps) {
				if other, dup := owner[id.Seq()+n]; dup {
					t.Fatalf("%s and %s share the sequence %d", id, other, id.Seq()+n)
				}
				owner[id.Seq()+n] = id
			}
		}
	}
	if len(owner) != callers*each*(1+steps) {
		t.Errorf("%d sequences, want %d", len(owner), callers*each*(1+steps))
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("00000000-0000-7000-8000-000000000000")
	f.Add("not-a-uuid")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := task.ParseID(s)
		if err == nil && id.String() != strings.ToLower(s) {
			t.Errorf("%q parsed as %s", s, id)
		}
	})
}
