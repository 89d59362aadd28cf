package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// rename gives a stored letter another identity, and keeps the old one as an alias.
func (f *inboxFixture) rename(ctx context.Context, tx engine.Tx, l *deadletter.Letter, identity string) error {
	alias, ok := l.Identified(l.Source, identity)
	if !ok {
		return fmt.Errorf("the letter has the identity %q already", identity)
	}
	if err := f.inbox.AddAliases(ctx, tx, []deadletter.Alias{alias}); err != nil {
		return err
	}
	return f.inbox.SaveLetters(ctx, tx, []*deadletter.Letter{l})
}

// aliases: a letter is found by all its former identities in their source, of any length and bytes; no new letter takes
// one until the letter is deleted.
func aliases(f *inboxFixture) {
	long, bad := strings.Repeat("x", 5000), "a\x00b\xfec"
	l := f.letter(1, func(l *deadletter.Letter) { l.State, l.PurgeAt = model.LetterRedriven, f.now+1 })
	first := l.Identity
	neighbour := f.letter(2, nil)
	f.add(l, neighbour)
	known := []string{first, long, bad, "last"}
	for _, identity := range known[1:] {
		f.write(func(ctx context.Context, tx engine.Tx) error { return f.rename(ctx, tx, l, identity) })
	}
	foreign := deadletter.Alias{Namespace: "default", Source: "other", Identity: neighbour.Identity, Letter: l.ID}
	for range 2 {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			return f.inbox.AddAliases(ctx, tx, []deadletter.Alias{foreign})
		})
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		found, err := f.inbox.Identified(ctx, tx, "default", "orders", append(known, neighbour.Identity, "none"))
		for _, identity := range known {
			f.same("letter of "+cut(identity), found[identity], l)
		}
		f.same("letter of its own identity", found[neighbour.Identity], neighbour)
		f.same("number of identities", len(found), len(known)+1)
		return err
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		found, err := f.inbox.Identified(ctx, tx, "default", "other", append(known, neighbour.Identity))
		f.same("by another source", found, map[string]*deadletter.Letter{neighbour.Identity: l})
		return err
	})

	copies := func(source string) (out []*deadletter.Letter) {
		for i, identity := range append(known, neighbour.Identity, "new") {
			out = append(out, f.letter(10+i, func(l *deadletter.Letter) { l.Source, l.Identity = source, identity }))
		}
		return out
	}
	again := copies("orders")
	f.same("stored again", f.addSome(again...), []bool{false, false, false, false, false, true})
	for i, l := range again {
		if found := f.find(l.ID); (found != nil) != (i == len(again)-1) {
			f.Errorf("letter %d: found %v", i, found)
		}
	}
	f.same("stored in another source", f.addSome(copies("other")...), []bool{true, true, true, true, false, true})

	f.write(func(ctx context.Context, tx engine.Tx) error {
		_, err := f.inbox.PurgeLetters(ctx, tx, f.now+1, 10)
		return err
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		found, err := f.inbox.Identified(ctx, tx, "default", "orders", known)
		f.same("of a letter that was deleted", found, map[string]*deadletter.Letter(nil))
		return err
	})
	f.add(f.letter(30, func(l *deadletter.Letter) { l.Identity = first }))
}

// renamedMeanwhile adds a message in one process while another makes its identity an alias, because its letter
// returned: the message stays known.
func renamedMeanwhile(a, b *inboxFixture) {
	for n := range 20 {
		l := a.letter(n, func(l *deadletter.Letter) { l.State = model.LetterRedriven })
		a.add(l)
		late := b.letter(n, nil)
		var added []bool
		var found map[string]*deadletter.Letter
		a.together(func(ctx context.Context, tx engine.Tx) error {
			letters, err := a.inbox.Letters(ctx, tx, []task.ID{l.ID})
			if err != nil {
				return err
			}
			return a.rename(ctx, tx, letters[0], fmt.Sprint("again", n))
		}, func() error {
			return b.store.Write(b.Context(), func(ctx context.Context, tx engine.Tx) (err error) {
				if added, err = b.inbox.AddLetters(ctx, tx, []*deadletter.Letter{late}); err != nil {
					return err
				}
				found, err = b.inbox.Identified(ctx, tx, "default", "orders", []string{late.Identity})
				return err
			})
		})
		a.same("stored", added, []bool{false})
		if b.find(late.ID) != nil || found[late.Identity] == nil || found[late.Identity].ID != l.ID {
			a.Fatalf("round %d: the identity belongs to %v", n, found[late.Identity])
		}
	}
}
