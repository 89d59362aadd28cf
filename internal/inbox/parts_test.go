package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// refusing fails the transactions that refuse selects, with its error.
type refusing struct {
	*postgres.Store

	refuse atomic.Pointer[func() error]
}

func (s *refusing) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	if refuse := s.refuse.Load(); refuse != nil {
		if err := (*refuse)(); err != nil {
			return err
		}
	}
	return s.Store.Write(ctx, fn)
}

func refusingRig(t *testing.T) (*rig, *refusing) {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgrestest.DSN(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	store := &refusing{Store: s}
	return newRig(t, store), store
}

func numbered(n int) []inbox.Arrival {
	list := make([]inbox.Arrival, n)
	for i := range list {
		list[i] = dead(i, "Timeout")
		list[i].Position = fmt.Sprint("dlq@", i)
	}
	return list
}

// The error of a partly stored batch says so, and the next call stores only the rest.
func TestPartlyStored(t *testing.T) {
	t.Parallel()
	r, s := refusingRig(t)
	orders := &deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory"}
	store := r.Storing(orders)(numbered(400))
	var calls atomic.Int32
	broken := errors.New("no connection")
	second := func() error {
		if calls.Add(1) == 2 {
			return broken
		}
		return nil
	}
	s.refuse.Store(&second)
	if err := store(t.Context()); !errors.Is(err, seam.ErrPartly) || !errors.Is(err, broken) {
		t.Fatalf("the second of two transactions fails: %v", err)
	}
	s.refuse.Store(nil)
	r.want("the rest is stored", store(t.Context()), nil)
	r.want("letters", r.open(), 400)
	r.want("nothing is left to store", store(t.Context()), nil)
	r.want("letters", r.open(), 400)
}

func TestNothingStored(t *testing.T) {
	t.Parallel()
	r, s := refusingRig(t)
	full := func() error { return task.Errorf(task.Exhausted, "full") }
	s.refuse.Store(&full)
	orders := &deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory"}
	err := r.Storing(orders)(numbered(400))(t.Context())
	if errors.Is(err, seam.ErrPartly) || task.CodeOf(err) != task.Exhausted {
		t.Errorf("%v", err)
	}
}

// The letters of a divided batch follow the order of its messages.
func TestOrderOfParts(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		batch := make([]inbox.Arrival, 500)
		for i := range batch {
			batch[i] = dead(i, "Timeout")
			if i%3 == 0 {
				batch[i].Content.Key = fmt.Append(nil, i%7)
			}
		}
		orders := &deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory"}
		r.want("stored", r.Storing(orders)(batch)(t.Context()), nil)
		all := deadletter.Selection{Namespace: "default"}
		page, err := r.Letters(t.Context(), inbox.LetterFilter{Selection: all, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		r.want("letters", len(page.Letters), len(batch))
		for i, l := range page.Letters {
			if want := fmt.Sprintf("m%d", len(batch)-1-i); l.MessageID != want {
				t.Fatalf("letter %d is that of %s, want %s", i, l.MessageID, want)
			}
		}
	})
}

func (r *rig) open() (n int64) {
	r.t.Helper()
	page, err := r.Groups(r.t.Context(), groups.GroupFilter{Limit: 100}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, g := range page.Groups {
		n += g.OpenLetters
	}
	return n
}
