package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func letterCases() []inboxCase {
	return []inboxCase{
		{"RoundTrip", lettersRoundTrip},
		{"HostileValues", hostileLetters},
		{"Large", largeLetters},
		{"KnownIdentity", knownIdentities},
		{"Aliases", aliases},
		{"Save", savedLetters},
		{"States", savedStates},
		{"Histories", letterHistories},
		{"Due", dueLetters},
		{"Purge", purgedLetters},
	}
}

func lettersRoundTrip(f *inboxFixture) {
	full := f.letter(1, func(l *deadletter.Letter) {
		l.State, l.Due, l.Reason, l.PurgeAt = model.LetterScheduled, f.now+5, "because", f.now+6
		l.Redrive, l.Replays, l.FailedSends, l.Parked, l.Cut, l.Size = f.id(), 2, 4, true, true, 1<<30
		l.Undecoded, l.Version = "no JSON", 9
		l.Edited = &deadletter.Content{Key: []byte{},
			Headers: []deadletter.Header{{Name: "b"}, {Name: "b", Value: []byte{0, 1, 2, 3, 255}}},
			Payload: []byte("edited")}
	})
	full.Edited.Headers[0].Value = []byte{}
	bare := f.letter(2, func(l *deadletter.Letter) { l.Original, l.Stack, l.Details = deadletter.Content{}, "", nil })
	empty := f.letter(3, func(l *deadletter.Letter) { l.Original = deadletter.Content{Key: []byte{}, Payload: []byte{}} })
	f.add(full, bare, empty)
	for _, l := range []*deadletter.Letter{full, bare, empty} {
		f.same("FindLetter", f.find(l.ID), l)
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.inbox.Letters(ctx, tx, []task.ID{empty.ID, f.id(), full.ID})
		if err == nil {
			f.same("Letters", got, []*deadletter.Letter{full, empty})
		}
		return err
	})
	if l := f.find(f.id()); l != nil {
		f.Errorf("FindLetter of an unknown ID returned %v", l)
	}
	occurrences, err := f.inbox.Occurrences(f.Context(), full.ID, 10)
	f.must(err)
	f.same("Occurrences", occurrences, []deadletter.Occurrence{{Letter: full.ID, No: 1, At: full.LastAt, Group: 7,
		Failure: full.Failure, Handler: full.Handler, Stack: full.Stack, Details: full.Details, Origin: full.Origin,
		Position: full.Position,
		Attempts: 3, Redrive: full.Redrive}})
}

// hostileLetters stores binary text: PostgreSQL keeps neither NUL nor invalid UTF-8.
func hostileLetters(f *inboxFixture) {
	const bad = "a\x00b\xffc"
	l := f.letter(1, func(l *deadletter.Letter) {
		l.Origin, l.Format, l.Position, l.MessageID, l.Identity, l.Canonical = bad, bad, bad, bad, bad, bad
		l.Reason, l.Undecoded, l.Handler, l.Stack = bad, bad, bad, bad
		l.Failure.Type, l.Failure.Code, l.Failure.Message, l.Failure.Class = bad, bad, bad, bad
		l.Original = deadletter.Content{Key: []byte(bad), Payload: []byte(bad),
			Headers: []deadletter.Header{{Name: bad, Value: []byte(bad)},
				{Name: "\x00\x01", Value: []byte("\x00\x02\x00\x03\x00\xff\x00")}}}
	})
	f.add(l)
	got := f.find(l.ID)
	f.same("content", got.Original, l.Original)
	f.same("stack", got.Stack, bad)
	for what, text := range map[string]string{"origin": got.Origin, "message": got.Failure.Message,
		"class":    string(got.Failure.Class),
		"position": got.Position} {
		f.same(what, text, "a\uFFFDb\uFFFDc")
	}
	other := f.letter(2, func(l *deadletter.Letter) { l.Identity = "a\x00b\xfec" })
	long := f.letter(3, func(l *deadletter.Letter) { l.Identity = strings.Repeat("x", 5000) })
	longer := f.letter(4, func(l *deadletter.Letter) { l.Identity = strings.Repeat("x", 5001) })
	f.add(other, long, longer) // all are different
	f.write(func(ctx context.Context, tx engine.Tx) error {
		found, err := f.inbox.Identified(ctx, tx, "default", "orders", []string{bad, strings.Repeat("x", 5000), "none"})
		if err == nil {
			f.same("Identified", len(found), 2)
		}
		return err
	})
}

func largeLetters(f *inboxFixture) {
	largest := 10 << 20
	if testing.Short() {
		largest = 1 << 20
	}
	for _, size := range []int{1023, 1024, 1025, largest} {
		l := f.letter(size, func(l *deadletter.Letter) {
			l.Original.Payload = []byte(noise(size))
			l.Stack = noise(min(size, 1<<20))
		})
		f.add(l)
		f.same(fmt.Sprint("letter of ", size), f.find(l.ID), l)
	}
	random := f.letter(1, func(l *deadletter.Letter) { l.Original.Payload = slices.Repeat([]byte{0, 1, 255, 128}, 700) })
	f.add(random)
	f.same("binary letter", f.find(random.ID), random)
}

func knownIdentities(f *inboxFixture) {
	first := f.letters(100, nil)
	f.add(first...)
	again := f.letters(150, nil)
	again = append(again, f.letter(149, nil), f.letter(1, func(l *deadletter.Letter) { l.Source = "other" }))
	added := f.addSome(again...)
	for i, a := range added {
		if want := i >= 100 && i != 150; a != want {
			f.Errorf("letter %d: stored %v, want %v", i, a, want)
		}
		if found := f.find(again[i].ID); (found != nil) != a {
			f.Errorf("letter %d: stored %v, found %v", i, a, found != nil)
		}
	}
	occurrences, err := f.inbox.Occurrences(f.Context(), first[5].ID, 10)
	f.must(err)
	f.same("occurrences of a letter that was added twice", len(occurrences), 1)
}

func savedLetters(f *inboxFixture) {
	l := f.letter(1, func(l *deadletter.Letter) { l.Original.Payload = []byte(noise(5000)) })
	f.add(l)
	save := func() {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error {
			return f.inbox.SaveLetters(ctx, tx, []*deadletter.Letter{l})
		})
		f.same("saved letter", f.find(l.ID), l)
	}
	l.State, l.StateAt, l.Due, l.Reason, l.Redrive, l.PurgeAt = model.LetterDiscarded, f.now+1, f.now+2, "r", f.id(),
		f.now+3
	l.FailedSends = 3
	l.Group, l.Failure, l.Handler, l.Attempts, l.Replays, l.Parked = 8, f.letter(2, nil).Failure, "h", 5, 6, true
	l.Origin, l.Position, l.Canonical, l.FirstAt, l.LastAt, l.Version = "o", "p", "c", f.now-1, f.now+9, 2
	save()
	l.Edited = &deadletter.Content{Payload: []byte(noise(2000))}
	save()
	l.Edited = &deadletter.Content{Key: []byte("k2")}
	save()
	l.Edited, l.Redrive = nil, task.ID{}
	save()
}

// savedStates: a change of state stores its fields, for letters that change alike and for another one, and nothing
// else; a letter that is not redriving has no mark.
func savedStates(f *inboxFixture) {
	redrive := f.id()
	letters := f.letters(12, func(i int, l *deadletter.Letter) {
		l.State, l.Redrive, l.Version = model.LetterRedriving, redrive, 4
		if i == 3 {
			l.Original.Payload = bytes.Repeat([]byte("x"), 3*inbox.SmallPayload)
		}
	})
	f.add(letters...)
	for i, l := range letters {
		l.State, l.StateAt, l.Replays, l.PurgeAt, l.Version = model.LetterRedriven, f.now+9, 1, f.now+99, 5
		switch i {
		case 2:
			l.State, l.Reason, l.Replays, l.PurgeAt, l.Parked = model.LetterOpen, "a\x00b", 0, 0, true
			l.FailedSends, l.Unknown = 3, true
		case 5:
			l.State, l.Due, l.Redrive = model.LetterRedriving, f.now+7, task.ID{}
		}
	}
	ids := make([]task.ID, len(letters))
	for i, l := range letters {
		ids[i] = l.ID
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		changed := slices.Clone(letters)
		slices.Reverse(changed)
		if err := f.inbox.SaveStates(ctx, tx, changed); err != nil {
			return err
		}
		bare, err := f.inbox.BareLetters(ctx, tx, append(slices.Clone(ids), f.id()))
		slices.Reverse(bare)
		f.same("BareLetters", idsOf(bare...), ids)
		slices.Reverse(bare)
		f.same("a bare letter", []any{bare[5].State, bare[5].Version, bare[2].Unknown},
			[]any{model.LetterRedriving, letters[5].Version, true})
		return err
	})
	letters[2].Reason = "a\uFFFDb"
	for _, l := range letters {
		f.same("FindLetter", f.find(l.ID), l)
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		some, left, err := f.inbox.LettersToSend(ctx, tx, ids, 1)
		if err != nil {
			return err
		}
		f.same("letters before a large one", []any{len(some), left}, []any{3, ids[3:]})
		got, left, err := f.inbox.LettersToSend(ctx, tx, ids, 1<<20)
		f.same("letters that are left", len(left), 0)
		for i, l := range letters {
			bare := *l
			bare.Stack, bare.Details = "", nil
			if err == nil {
				f.same("LettersToSend", got[i], &bare)
			}
		}
		return errors.Join(err, f.inbox.SaveStates(ctx, tx, nil))
	})
}

func letterHistories(f *inboxFixture) {
	l := f.letter(1, nil)
	f.add(l)
	second := deadletter.Occurrence{Letter: l.ID, No: 2, At: f.now + 10, Group: 9, Failure: l.Failure, Handler: "h2",
		Stack: noise(3000), Origin: "o2", Position: "p2", Attempts: 1, Redrive: f.id(), Payload: []byte(noise(4000))}
	second.Details = []deadletter.Detail{{Name: "context", Value: noise(2000)}, {Name: "x"}}
	l.Occurrences, l.Stack, l.Details = 2, second.Stack, second.Details
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := f.inbox.SaveLetters(ctx, tx, []*deadletter.Letter{l}); err != nil {
			return err
		}
		return f.inbox.AddOccurrences(ctx, tx, []deadletter.Occurrence{second})
	})
	f.same("letter that died again", f.find(l.ID), l)
	got, err := f.inbox.Occurrences(f.Context(), l.ID, 1)
	f.must(err)
	f.same("latest occurrence", got, []deadletter.Occurrence{second})
	got, err = f.inbox.Occurrences(f.Context(), l.ID, 5)
	f.must(err)
	f.same("number of occurrences", len(got), 2)
}

func dueLetters(f *inboxFixture) {
	letters := f.letters(5, func(i int, l *deadletter.Letter) {
		l.State, l.Due = model.LetterScheduled, f.now+task.Instant(10-i)
	})
	letters[4].State = model.LetterOpen
	letters[3].State, letters[3].StateAt = model.LetterRedriving, f.now
	letters[2].State, letters[2].StateAt, letters[2].Redrive = model.LetterRedriving, f.now, f.id()
	f.add(letters...)
	got, err := f.inbox.DueLetters(f.Context(), f.now+10, 10)
	f.must(err)
	f.same("DueLetters", got, []task.ID{letters[1].ID, letters[0].ID})
	got, err = f.inbox.DueLetters(f.Context(), f.now+9, 10)
	f.must(err)
	f.same("DueLetters until a time", got, []task.ID{letters[1].ID})
	n, err := f.inbox.OpenLetters(f.Context(), "default", "orders", 10)
	f.must(err)
	f.same("OpenLetters", n, 3)
	n, err = f.inbox.OpenLetters(f.Context(), "default", "orders", 2)
	f.must(err)
	f.same("OpenLetters up to a limit", n, 2)
}

func purgedLetters(f *inboxFixture) {
	letters := f.letters(6, func(i int, l *deadletter.Letter) {
		l.PurgeAt, l.Original.Payload = f.now+task.Instant(i), []byte(noise(2000))
	})
	letters[5].PurgeAt = 0
	f.add(letters...)
	purge := func(want int) {
		f.Helper()
		n := 0
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			n, err = f.inbox.PurgeLetters(ctx, tx, f.now+3, 3)
			return err
		})
		f.same("PurgeLetters", n, want)
	}
	purge(3)
	purge(1)
	purge(0)
	for i, l := range letters {
		occurrences, err := f.inbox.Occurrences(f.Context(), l.ID, 1)
		f.must(err)
		if kept := i > 3; (f.find(l.ID) != nil) != kept || (len(occurrences) > 0) != kept {
			f.Errorf("letter %d: kept %v, want %v", i, !kept, kept)
		}
	}
}
