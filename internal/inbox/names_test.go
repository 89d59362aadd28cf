package inbox_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// slashed are two sources with the same names joined by a slash.
func slashed() []*deadletter.Source {
	return []*deadletter.Source{{Namespace: "acme", Name: "eu/pay", Driver: "memory", Queue: "orders.dlq"},
		{Namespace: "acme/eu", Name: "pay", Driver: "memory", Queue: "orders.dlq"}}
}

// noted notes which sources are read, and where failures are written.
type noted struct {
	inbox.Carrier
	mu    *sync.Mutex
	reads *[]string
}

func (c noted) Read(ctx context.Context, s *deadletter.Source, _ inbox.ReadOptions,
	_ func([]inbox.Arrival) func(context.Context) error, _ func(error),
) {
	c.mu.Lock()
	*c.reads = append(*c.reads, s.Namespace+" "+s.Name)
	c.mu.Unlock()
	<-ctx.Done()
}

// Sources with the same joined names are separate: both are read, and failures go to their own queues.
func TestNamesWithSlashes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reads []string
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		sources := slashed()
		for i, s := range sources {
			s.Intake = &deadletter.Intake{TaskType: "x", WriteFailures: fmt.Sprint("failed", i)}
			r.source(*s)
		}
		readers := inbox.NewReaders(r.Inbox, "n1")
		if err := readers.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		readers.Stop() // it waits for looks under way
		mu.Lock()
		for _, s := range sources {
			if !slices.Contains(reads, s.Namespace+" "+s.Name) {
				t.Errorf("%s of %s is not read, of %q", s.Name, s.Namespace, reads)
			}
		}
		mu.Unlock()
		inbox.SendFailures(t.Context(), r.Inbox, sources)
		slices.Sort(r.broker.to)
		r.want("written", r.broker.to, []string{"acme failed0", "acme/eu failed1"})
	}, func(o *node.Options) {
		o.Carriers = map[string]inbox.Carrier{"memory": noted{o.Carriers["memory"], &mu, &reads}}
	})
}

// A configured source is not confused with another of the same joined name; notes of older versions count.
func TestDeclaredNames(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		sources := slashed()
		sources[1].MaxOpen = 7
		plain := &deadletter.Source{Namespace: "acme", Name: "plain", Driver: "memory", Queue: "orders.dlq"}
		versions := func() (all []int64) {
			t.Helper()
			if err := r.Declare(t.Context(), append(sources, plain)); err != nil {
				t.Fatal(err)
			}
			for _, s := range append(sources, plain) {
				found, err := r.Source(t.Context(), s.Namespace, s.Name)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, found.Source.Version)
			}
			return all
		}
		r.want("the first start", versions(), []int64{1, 1, 1})
		r.want("a restart", versions(), []int64{1, 1, 1})
		r.want("of an older version", inbox.OlderNote(t.Context(), r.Inbox, plain), nil)
		r.want("a restart after an upgrade", versions(), []int64{1, 1, 1})
		plain.MaxOpen = 3
		r.want("a changed entry", versions(), []int64{1, 1, 2})
		r.want("a restart", versions(), []int64{1, 1, 2})
	})
}
