package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (f *inboxFixture) send(n int, with func(*deadletter.Send)) deadletter.Send {
	s := deadletter.Send{Owner: f.id(), Kind: deadletter.SendLetter, No: 1, State: deadletter.SendDelivered,
		Namespace: "default", Source: "orders", Destination: "orders", Content: "jsame", About: f.id(), Item: n, Turn: 7,
		At: f.now + task.Instant(n), Tries: 1, Copies: 1}
	if with != nil {
		with(&s)
	}
	return s
}

func (f *inboxFixture) addSends(sends ...deadletter.Send) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.AddSends(ctx, tx, sends) })
}

func (f *inboxFixture) sendsOf(kind deadletter.SendKind, owners ...task.ID) (found []deadletter.Send) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		found, err = f.inbox.SendsOf(ctx, tx, kind, owners)
		return err
	})
	return found
}

// savedSends: a send is stored whole, one with its number replaces it, and changes are stored for many together.
func savedSends(f *inboxFixture) {
	var sends []deadletter.Send
	for i := range 30 {
		sends = append(sends, f.send(i, func(s *deadletter.Send) {
			s.State, s.Copies, s.MessageID, s.Lineage = deadletter.SendInFlight, 0, "m", 2
		}))
	}
	copied := sends[0]
	copied.Kind = deadletter.SendCopy
	second := sends[1]
	second.No, second.About = 2, task.ID{}
	f.addSends(append(slices.Clone(sends), copied, second)...)
	f.same("sends of a letter", f.sendsOf(deadletter.SendLetter, sends[1].Owner, sends[0].Owner),
		[]deadletter.Send{sends[0], sends[1], second})
	for i := range sends {
		sends[i].State, sends[i].Copies, sends[i].At = deadletter.SendDelivered, 1, f.now+99
		if i == 5 {
			sends[i].State, sends[i].NextAt, sends[i].Error = deadletter.SendUnknown, f.now+7, "a\x00b"
		}
	}
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveSends(ctx, tx, sends) })
	sends[5].Error = "a\uFFFDb"
	owners := make([]task.ID, len(sends))
	for i := range sends {
		owners[i] = sends[i].Owner
	}
	got := f.sendsOf(deadletter.SendLetter, owners...)
	f.same("saved", got, slices.Insert(slices.Clone(sends), 2, second))
	f.same("a copy stays", f.sendsOf(deadletter.SendCopy, owners...), []deadletter.Send{copied})
	again := sends[5]
	again.Destination, again.Tries, again.About, again.State, again.NextAt = "other", 2, f.id(), deadletter.SendInFlight, 0
	f.addSends(again)
	f.same("replaced", f.sendsOf(deadletter.SendLetter, again.Owner), []deadletter.Send{again})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.DropSends(ctx, tx, deadletter.SendCopy, owners)
	})
	f.same("dropped", f.sendsOf(deadletter.SendCopy, owners...), []deadletter.Send(nil))
}

// openSends: sends of a content are found by source and message ID, latest first, until a death consumes them; their
// existence is known longer.
func openSends(f *inboxFixture) {
	a, b := f.send(1, nil), f.send(2, func(s *deadletter.Send) { s.No, s.Lineage = 3, 2 })
	died := f.send(3, func(s *deadletter.Send) { s.Died = 1 })
	others := []deadletter.Send{
		f.send(4, func(s *deadletter.Send) { s.Source = "elsewhere" }),
		f.send(5, func(s *deadletter.Send) { s.MessageID = "m" }),
		f.send(6, func(s *deadletter.Send) { s.Content = "jother" }),
		f.send(7, func(s *deadletter.Send) { s.State = deadletter.SendRefused }),
		f.send(8, func(s *deadletter.Send) { s.Kind = deadletter.SendCopy }),
		f.send(9, func(s *deadletter.Send) { s.Content, s.Died = "jdied", 1 }),
	}
	f.addSends(append(others, a, b, died)...)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		any, err := f.inbox.AnySends(ctx, tx, "default", "orders", []outbox.SentContent{{Content: "jsame"},
			{Content: "jsame", MessageID: "m"}, {Content: "jdied"}, {Content: "jnone"}})
		if err != nil {
			return err
		}
		f.same("AnySends", any, map[outbox.SentContent]int{{Content: "jsame"}: 5,
			{Content: "jsame", MessageID: "m"}: 1, {Content: "jdied"}: 1})
		for limit, want := range [][]deadletter.Send{{}, {b}, {b, a}, {b, a}} {
			got, err := f.inbox.OpenSends(ctx, tx, "default", "orders", outbox.SentContent{Content: "jsame"}, limit)
			if err != nil {
				return err
			}
			f.same("OpenSends", append([]deadletter.Send{}, got...), want)
		}
		return nil
	})
}

// dueSends wait until they are due, or until their process counts as ended.
func dueSends(f *inboxFixture) {
	failure := func(n int) deadletter.Send {
		at := f.now.Add(time.Duration(n) * time.Second)
		return deadletter.Send{Owner: f.id(), Kind: deadletter.SendFailure, No: 1, State: deadletter.SendPlanned,
			About: f.id(), At: at, NextAt: at}
	}
	a, b, c := failure(3), failure(1), failure(2)
	f.addSends(a, b, c, f.send(1, nil), f.send(2, func(s *deadletter.Send) {
		s.State, s.NextAt = deadletter.SendUnknown, f.now
	}))
	due := func(after time.Duration, orphans task.Instant, limit int, want ...deadletter.Send) {
		f.Helper()
		got, err := f.inbox.DueSends(f.Context(), deadletter.SendFailure, f.now.Add(after), orphans, limit)
		f.must(err)
		f.same("due", append([]deadletter.Send{}, got...), append([]deadletter.Send{}, want...))
	}
	due(0, 0, 9)
	due(2*time.Second, 0, 9, b, c)
	due(time.Minute, 0, 2, b, c)
	b.State, b.NextAt, b.At = deadletter.SendInFlight, 0, f.now.Add(time.Minute)
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveSends(ctx, tx, []deadletter.Send{b}) })
	due(time.Hour, b.At-1, 9, c, a)
	due(time.Hour, b.At, 9, c, a, b)
	n, oldest, err := f.inbox.CountFailures(f.Context(), 9)
	f.must(err)
	f.same("waiting", []any{n, oldest}, []any{3, c.At})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.DropSends(ctx, tx, deadletter.SendFailure, []task.ID{a.Owner, c.Owner})
	})
	due(time.Hour, b.At, 9, b)
}

// sendTurns: only the latest turn of a loop counts.
func sendTurns(f *inboxFixture) {
	has := func(ctx context.Context, tx engine.Tx, loop string, turn int64, want bool) {
		f.Helper()
		got, err := f.inbox.HasTurn(ctx, tx, loop, turn)
		f.must(err)
		f.same("HasTurn", got, want)
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		has(ctx, tx, "a", 1, false)
		f.must(f.inbox.TakeTurn(ctx, tx, "a", 1))
		f.must(f.inbox.TakeTurn(ctx, tx, "b", 2))
		has(ctx, tx, "a", 1, true)
		f.must(f.inbox.TakeTurn(ctx, tx, "a", 3))
		has(ctx, tx, "a", 1, false)
		has(ctx, tx, "b", 2, true)
		return nil
	})
}

// journals are kept whole, one per source.
func journals(f *inboxFixture) {
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.inbox.Journal(ctx, tx, "default", "orders")
		f.must(err)
		f.same("no journal", len(got), 0)
		for _, text := range []string{"first\x00", "second"} {
			f.must(f.inbox.SaveJournal(ctx, tx, "default", "orders", []byte(text)))
			got, err = f.inbox.Journal(ctx, tx, "default", "orders")
			f.must(err)
			f.same("journal", string(got), text)
		}
		got, err = f.inbox.Journal(ctx, tx, "other", "orders")
		f.same("of another namespace", len(got), 0)
		return err
	})
}

// namesakes are the newest letters of a source with a message ID.
func namesakes(f *inboxFixture) {
	letters := f.letters(4, func(i int, l *deadletter.Letter) {
		if l.MessageID = "same"; i == 3 {
			l.Source = "elsewhere"
		}
	})
	f.add(letters...)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.inbox.Namesakes(ctx, tx, "default", "orders", []string{"same", "none"})
		f.same("Namesakes", got, map[string]task.ID{"same": letters[2].ID})
		return err
	})
}

func outboxCases() []inboxCase {
	return []inboxCase{{"Saved", savedSends}, {"Open", openSends}, {"Due", dueSends}, {"Turns", sendTurns},
		{"Journals", journals}, {"Namesakes", namesakes}}
}
