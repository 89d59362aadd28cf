package transfer_test

import (
	"context"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

type inboxStore interface {
	engine.Database
	Inbox() inbox.Store
}

// fillInbox leaves rows in every table of dead letters, and a letter with all kinds of bytes.
func fillInbox(t *testing.T, s inboxStore) {
	t.Helper()
	in, now := s.Inbox(), task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	bytes := make([]byte, 4096)
	for i := range bytes {
		bytes[i] = byte(i * i >> 3)
	}
	l := &deadletter.Letter{ID: s.IDs().Take(now.Time(), 1), Namespace: "büro", Source: "orders", Identity: "1",
		State: model.LetterOpen, Group: 1 << 61, Occurrences: 1, Stack: "at x", LastAt: now,
		Original: deadletter.Content{Key: []byte{}, Payload: bytes,
			Headers: []deadletter.Header{{Name: "h", Value: []byte{0, 1, 0xff}}}},
		Edited: &deadletter.Content{Payload: bytes[:2000]}}
	r := &deadletter.Redrive{ID: s.IDs().Take(now.Time(), 1), Namespace: "büro", Operation: model.OpRedrive,
		State: model.RedriveDraft, Selection: deadletter.Selection{Namespace: "büro"}}
	err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		for _, step := range []func() error{
			func() error { _, err := in.AddLetters(ctx, tx, []*deadletter.Letter{l}); return err },
			func() error {
				return in.AddAliases(ctx, tx, []deadletter.Alias{{Namespace: "büro", Source: "orders", Identity: "0",
					Letter: l.ID}})
			},
			func() error {
				return in.AddGroups(ctx, tx, []*deadletter.Group{{ID: l.Group, Namespace: "büro", State: model.GroupOpen}})
			},
			func() error {
				return in.AddDeltas(ctx, tx, []deadletter.Delta{{Group: l.Group, Failures: 1, At: now}})
			},
			func() error { _, _, err := in.FoldDeltas(ctx, tx, 10); return err },
			func() error { return in.AddDeltas(ctx, tx, []deadletter.Delta{{Group: l.Group, OpenLetters: 1}}) },
			func() error { return in.AddGroupNotes(ctx, tx, []deadletter.Note{{Group: l.Group, Text: "n"}}) },
			func() error { return in.AddRedrive(ctx, tx, r) },
			func() error { _, err := in.Freeze(ctx, tx, r, 1000); return err },
			func() error { return in.SaveSource(ctx, tx, &deadletter.Source{Namespace: "büro", Name: "orders"}) },
			func() error {
				return in.SavePolicy(ctx, tx, &deadletter.Policy{Namespace: "büro", Source: "orders", Multiplier: 1.5})
			},
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func showInbox(t *testing.T, s inboxStore) (all []any) {
	t.Helper()
	in := s.Inbox()
	add := func(v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	page, err := in.ListLetters(t.Context(), inbox.LetterFilter{Selection: deadletter.Selection{Namespace: "büro"},
		Limit: 9})
	if err != nil || len(page.Letters) != 1 {
		t.Fatalf("%d letters are listed, error %v", len(page.Letters), err)
	}
	l, err := in.FindLetter(t.Context(), page.Letters[0].ID)
	add(l, err)
	occurrences, err := in.Occurrences(t.Context(), l.ID, 9)
	add(occurrences, err)
	g, err := in.FindGroup(t.Context(), l.Group)
	add(g, err)
	notes, err := in.GroupNotes(t.Context(), l.Group, 0, 9)
	add(notes, err)
	hours, err := in.Hours(t.Context(), []deadletter.GroupID{l.Group}, 0)
	add(hours, err)
	redrives, err := in.ListRedrives(t.Context(), redrive.Filter{Limit: 9})
	add(redrives, err)
	items, err := in.ListItems(t.Context(), redrives[0].ID, "", 0, 9)
	add(items, err)
	sources, err := in.Sources(t.Context(), "")
	add(sources, err)
	policies, err := in.Policies(t.Context(), "")
	add(policies, err)
	err = s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		found, err := in.Identified(ctx, tx, "büro", "orders", []string{"0"})
		if len(found) != 1 {
			t.Errorf("an alias finds %d letters", len(found))
		}
		add(found, err)
		return nil
	})
	add(nil, err)
	return all
}
