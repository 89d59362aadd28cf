package inbox_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/seam"
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

func (c noted) Read(ctx context.Context, s *deadletter.Source, _ seam.ReadOptions,
	_ func([]inbox.Arrival) func(context.Context) error, _ func(error),
) {
	c.mu.Lock()
	*c.reads = append(*c.reads, s.Namespace+" "+s.Name)
	c.mu.Unlock()
	<-ctx.Done()
}

// Sources with the same joined names are separate: both are read, and their letters go to their own queues.
func TestNamesWithSlashes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reads []string
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		sources := slashed()
		for _, s := range sources {
			r.source(*s)
		}
		readers := capture.NewReaders(r.Capturer, "n1", slog.New(slog.DiscardHandler))
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
		for i, s := range sources { // policies send both at once
			if _, err := r.SavePolicy(t.Context(), &deadletter.Policy{Namespace: s.Namespace, Source: s.Name,
				Strategy: model.Immediate, MaxRetries: 1}, inbox.By{}); err != nil {
				t.Fatal(err)
			}
			a := dead(i, "Timeout")
			a.Origin = fmt.Sprint("origin", i)
			if _, err := r.Capture(t.Context(), s, []inbox.Arrival{a}); err != nil {
				t.Fatal(err)
			}
		}
		r.pass(time.Minute)
		slices.Sort(r.broker.to)
		r.want("sent", r.broker.to, []string{"acme origin0", "acme/eu origin1"})
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
		r.want("of an older version", r.olderNote(plain), nil)
		r.want("a restart after an upgrade", versions(), []int64{1, 1, 1})
		plain.MaxOpen = 3
		r.want("a changed entry", versions(), []int64{1, 1, 2})
		r.want("a restart", versions(), []int64{1, 1, 2})
	})
}

// olderNote moves the note of a declared source to the key of older versions.
func (r *rig) olderNote(s *deadletter.Source) error {
	notes, key := r.db.NoteStore(), `source:["`+s.Namespace+`","`+s.Name+`"]`
	hash, err := notes.FindNote(r.t.Context(), key)
	if err != nil || hash == "" {
		return fmt.Errorf("the note %s: %q, %w", key, hash, err)
	}
	return r.db.Write(r.t.Context(), func(ctx context.Context, tx engine.Tx) error {
		if err := notes.DropNotes(ctx, tx, []string{key}); err != nil {
			return err
		}
		return notes.Note(ctx, tx, "source:"+s.Namespace+"/"+s.Name, hash)
	})
}
