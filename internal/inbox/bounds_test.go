package inbox_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestIgnoreByRate(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"))[0]
		r.pass(time.Second)
		if _, err := r.ChangeGroup(t.Context(), got.Group, groups.GroupChange{State: model.GroupIgnored,
			Ignore: deadletter.Ignore{PerHour: 4}}); err != nil {
			t.Fatal(err)
		}
		r.die(dead(2, "Timeout"), dead(3, "Timeout"))
		r.pass(time.Second)
		r.want("below the bound", joined(r.groups()), "Timeout ignored 3")
		r.die(dead(4, "Timeout"))
		r.pass(time.Second)
		r.want("at the bound", joined(r.groups()), "Timeout open 4")
	})
}

// An ignored group opens when its time is up or at a number of failures; until then failures are only counted.
func TestIgnoreEnds(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		id := r.die(dead(1, "Timeout"))[0].Group
		r.pass(time.Second)
		ignore := func(bounds deadletter.Ignore) {
			t.Helper()
			if _, err := r.ChangeGroup(t.Context(), id, groups.GroupChange{State: model.GroupIgnored,
				Ignore: bounds}); err != nil {
				t.Fatal(err)
			}
		}
		ended := func(times int) {
			t.Helper()
			story, err := r.Group(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, note := range story.Notes {
				if note.Kind == string(deadletter.IgnoreEnded) {
					n++
				}
			}
			r.want("ends of ignoring in the thread", n, times)
		}
		ignore(deadletter.Ignore{Until: task.At(r.clock().Add(time.Hour))})
		r.die(dead(2, "Timeout"))
		r.pass(time.Hour - time.Second)
		r.want("before the time", joined(r.groups()), "Timeout ignored 2")
		ended(0)
		r.pass(time.Second)
		r.want("at the time", joined(r.groups()), "Timeout open 2")
		ended(1)

		ignore(deadletter.Ignore{Count: 3})
		r.die(dead(3, "Timeout"), dead(4, "Timeout"))
		r.pass(24 * time.Hour)
		r.want("below the number", joined(r.groups()), "Timeout ignored 4")
		r.die(dead(5, "Timeout"))
		r.pass(time.Second)
		r.want("at the number", joined(r.groups()), "Timeout open 5")
		ended(2)

		ignore(deadletter.Ignore{})
		r.die(dead(6, "Timeout"))
		r.pass(30 * 24 * time.Hour)
		r.want("without a bound", joined(r.groups()), "Timeout ignored 6")
		ended(2)
	})
}

// A batch larger than max_open is captured while there is room. A removed source is not added again by its reader.
func TestSourceBounds(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		small := deadletter.Source{Namespace: "default", Name: "small", Driver: "memory", Queue: "orders.dlq", MaxOpen: 1}
		r.source(small)
		if _, err := r.Capture(t.Context(), &small, []inbox.Arrival{placed(1, "A"), placed(2, "A")}); err != nil {
			t.Fatal(err)
		}
		_, err := r.Capture(t.Context(), &small, []inbox.Arrival{placed(1, "A"), placed(3, "A")})
		r.refused(err, task.Exhausted)
		again, err := r.Capture(t.Context(), &small, []inbox.Arrival{placed(1, "A"), placed(2, "A")})
		if err != nil {
			t.Fatalf("messages that are stored already are refused: %v", err)
		}
		r.want("again", []model.ReceiptStatus{again[0].Status, again[1].Status}, "[duplicate duplicate]")
		if err := r.DropSource(t.Context(), "default", "small", inbox.By{}); err != nil {
			t.Fatal(err)
		}
		small.MaxOpen = 0 // otherwise the bound refuses it first
		_, err = r.Capture(t.Context(), &small, []inbox.Arrival{placed(3, "A")})
		r.refused(err, task.NotFound)
	})
}

// A message from a clock that is years ahead must not lead the list forever.
func TestImpossibleTime(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		ahead := placed(1, "Timeout")
		ahead.FailedAt = task.At(r.clock()).Add(20 * 365 * 24 * time.Hour)
		l := r.letter(r.die(ahead)[0].Letter)
		r.want("died", l.LastAt, task.At(r.clock()))
		r.want("again", r.die(ahead)[0].Status, model.Duplicate)
	})
}

// No concurrent change of a source and its policy is lost; a stale version is refused.
func TestSavedAtOnce(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		const many = 4
		save := map[string]func(n int, version int64) (int64, error){
			"source": func(n int, version int64) (int64, error) {
				s, err := r.SaveSource(t.Context(), &deadletter.Source{Namespace: "default", Name: "new", Driver: "http",
					MaxOpen: n + 1}, inbox.By{Version: version})
				if err != nil {
					return 0, err
				}
				return s.Version, nil
			},
			"policy": func(n int, version int64) (int64, error) {
				p, err := r.SavePolicy(t.Context(), &deadletter.Policy{Namespace: "default", Source: "orders",
					Strategy: model.Fixed, MaxRetries: n + 1}, inbox.By{Version: version})
				if err != nil {
					return 0, err
				}
				return p.Version, nil
			},
		}
		for name, save := range save {
			for _, named := range []int64{0, many} {
				versions, errs := make([]int64, many), make([]error, many)
				var all sync.WaitGroup
				for n := range many {
					all.Go(func() { versions[n], errs[n] = save(n, named) })
				}
				all.Wait()
				slices.Sort(versions)
				if named == 0 {
					r.want(name+" of no version", []any{errors.Join(errs...), versions}, "[<nil> [1 2 3 4]]")
					continue
				}
				r.want(name+" of one version", versions, "[0 0 0 5]")
				for _, err := range errs {
					if err != nil {
						r.refused(err, task.Conflict)
					}
				}
			}
		}
	})
}

func TestMergedBound(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		var died []inbox.Arrival
		for n := range 102 {
			died = append(died, dead(n, fmt.Sprintf("Cause%c%c", 'A'+n/26, 'A'+n%26)))
		}
		var groups []deadletter.GroupID
		for _, got := range r.die(died...) {
			groups = append(groups, got.Group)
		}
		merge := func(of []deadletter.GroupID) error {
			_, err := r.MergeGroups(t.Context(), groups[0], of, inbox.By{})
			return err
		}
		if err := merge(groups[1:100]); err != nil {
			t.Fatal(err)
		}
		r.refused(merge(groups[100:102]), task.WrongState)
		if err := merge(groups[100:101]); err != nil {
			t.Fatal(err)
		}
		r.refused(merge(groups[101:102]), task.WrongState)
	})
}
