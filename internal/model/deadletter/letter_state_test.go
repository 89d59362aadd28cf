package deadletter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	now task.Instant = 1_000_000_000_000
	day              = 24 * time.Hour
)

var redriveID = task.MakeID(7, 7)

func letterIn(s model.LetterState) *deadletter.Letter {
	l := &deadletter.Letter{ID: task.MakeID(1, 1), Namespace: "shop", Source: "mail", Origin: "mails", State: s,
		StateAt: 1, Occurrences: 1, Attempts: 2, Version: 5, FirstAt: now, LastAt: now, Group: 3, Position: "p1",
		Original: deadletter.Content{Payload: []byte(`{"a":1}`)}}
	l.Identity = deadletter.Identify(l.Position, "", l.Original)
	l.Canonical = deadletter.Canonical(l.Original)
	switch s {
	case model.LetterScheduled:
		l.Due = now
	case model.LetterRedriven:
		l.PurgeAt, l.Replays, l.Redrive = now, 1, redriveID
	case model.LetterDiscarded:
		l.PurgeAt, l.Reason = now, "why"
	}
	return l
}

// acts are all changes of state, with the states that allow each and the result. In the states of stays an act is
// allowed and leaves the state.
var acts = map[string]struct {
	do    func(l *deadletter.Letter) error
	from  []model.LetterState
	to    model.LetterState
	stays []model.LetterState
}{
	"Schedule": {func(l *deadletter.Letter) error { return l.Schedule(now+9, now+1) },
		[]model.LetterState{model.LetterOpen, model.LetterScheduled}, model.LetterScheduled, nil},
	"Unschedule": {func(l *deadletter.Letter) error { return l.Unschedule("manual now", now+1) },
		[]model.LetterState{model.LetterScheduled}, model.LetterOpen, nil},
	"Mark": {func(l *deadletter.Letter) error { return l.Mark(redriveID, now+1) },
		[]model.LetterState{model.LetterOpen, model.LetterScheduled}, model.LetterRedriving, nil},
	"Sent": {func(l *deadletter.Letter) error { return l.Sent(1, now+1, day) },
		[]model.LetterState{model.LetterRedriving}, model.LetterRedriven, nil},
	"Unmark": {func(l *deadletter.Letter) error { return l.Unmark("refused", false, now+1) },
		[]model.LetterState{model.LetterRedriving}, model.LetterOpen, nil},
	"Return": {func(l *deadletter.Letter) error {
		l.Return(deadletter.Occurrence{At: now + 1, Group: 4, Attempts: 3, Position: "p2"}, 1, 3, now+1)
		return nil
	}, []model.LetterState{model.LetterRedriving, model.LetterRedriven, model.LetterDiscarded}, model.LetterOpen,
		[]model.LetterState{model.LetterOpen, model.LetterScheduled}},
	"Discard": {func(l *deadletter.Letter) error { return l.Discard("old", now+1, day) },
		[]model.LetterState{model.LetterOpen, model.LetterScheduled}, model.LetterDiscarded, nil},
	"Restore": {func(l *deadletter.Letter) error { return l.Restore(now + 1) },
		[]model.LetterState{model.LetterRedriven, model.LetterDiscarded}, model.LetterOpen, nil},
}

func TestLetterTransitions(t *testing.T) {
	t.Parallel()
	reached := map[string]bool{}
	for name, act := range acts {
		for _, from := range model.LetterStates {
			l := letterIn(from)
			before := fmt.Sprintf("%+v", *l)
			err := act.do(l)
			if slices.Contains(act.stays, from) {
				if err != nil || l.State != from || l.StateAt != 1 || l.Version != 6 || (l.Due != 0) !=
					(from == model.LetterScheduled) || l.PurgeAt != 0 {
					t.Errorf("%s of a letter that is %s: %v, %+v", name, from, err, l)
				}
				continue
			}
			if !slices.Contains(act.from, from) {
				if task.CodeOf(err) != task.WrongState || fmt.Sprintf("%+v", *l) != before {
					t.Errorf("%s of a letter that is %s: %v, %+v", name, from, err, l)
				}
				continue
			}
			reached[string(from+" "+act.to)] = true
			if err != nil || l.State != act.to || l.Version != 6 || l.StateAt != now+1 || !from.Can(act.to) {
				t.Errorf("%s of a letter that is %s: %v, %+v", name, from, err, l)
			}
			if (l.Due != 0) != (l.State == model.LetterScheduled) || (l.PurgeAt != 0) != (l.State == model.LetterRedriven ||
				l.State == model.LetterDiscarded) {
				t.Errorf("%s: due %d, deleted %d", name, l.Due, l.PurgeAt)
			}
		}
	}
	for _, from := range model.LetterStates {
		for _, to := range from.Next() {
			if !reached[string(from+" "+to)] || !slices.Contains(model.LetterStates, to) {
				t.Errorf("no act leads from %s to %s", from, to)
			}
		}
	}
	if len(model.LetterState("lost").Next()) > 0 {
		t.Error("there is a state lost")
	}
}

func TestLetterFields(t *testing.T) {
	t.Parallel()
	l := letterIn(model.LetterOpen)
	if _ = l.Schedule(now+9, now); l.Due != now+9 {
		t.Errorf("due %d", l.Due)
	}
	if _ = l.Unschedule("manual now", now); l.Reason != "manual now" {
		t.Errorf("the reason is %q", l.Reason)
	}
	if _ = l.Mark(redriveID, now); l.Redrive != redriveID || l.Reason != "" || l.Replays != 0 {
		t.Errorf("marked: %+v", l)
	}
	if _ = l.Unmark("refused", false, now); l.Reason != "refused" || l.Replays != 0 || l.Unknown {
		t.Errorf("unmarked: %+v", l)
	}
	_ = l.Mark(redriveID, now)
	if _ = l.Unmark("no answer", true, now); l.Reason != "no answer" || l.Replays != 0 || !l.Unknown {
		t.Errorf("its outcome is not known: %+v", l)
	}
	l.FailedSends = 2
	if _ = l.Mark(redriveID, now); !l.Unknown { // it may still have arrived
		t.Errorf("marked again: %+v", l)
	}
	if _ = l.Sent(1, now+5, day); l.Replays != 1 || l.PurgeAt != now.Add(day)+5 || l.Unknown || l.FailedSends != 0 {
		t.Errorf("sent: %+v", l)
	}
	if _ = l.Discard("x", now, day); l.State != model.LetterRedriven {
		t.Errorf("discarded: %+v", l)
	}
	open := letterIn(model.LetterOpen)
	if _ = open.Discard("old", now, day); open.Reason != "old" || open.PurgeAt != now.Add(day) {
		t.Errorf("discarded: %+v", open)
	}
	open.FailedSends, open.Unknown = 2, true
	if _ = open.Restore(now); open.Reason != "" || open.PurgeAt != 0 || open.FailedSends != 0 ||
		!open.Unknown {
		t.Errorf("restored: %+v", open)
	}
	again := letterIn(model.LetterRedriven)
	if _ = again.Restore(now); again.Replays != 1 || again.PurgeAt != 0 {
		t.Errorf("restored: %+v", again)
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	if deadletter.Retention != 720*time.Hour {
		t.Errorf("letters are kept for %s", deadletter.Retention)
	}
}

func TestLetterIdentified(t *testing.T) {
	t.Parallel()
	l := letterIn(model.LetterRedriven)
	first := l.Identity
	for _, c := range []struct {
		source, identity string
		own              string // the letter's own afterwards
		alias            deadletter.Alias
	}{
		{"mail", first, first, deadletter.Alias{}},
		{"mail", "p2", "p2", deadletter.Alias{Source: "mail", Identity: first}},
		{"other", "p2", "p2", deadletter.Alias{Source: "other", Identity: "p2"}},
		{"mail", "p3", "p3", deadletter.Alias{Source: "mail", Identity: "p2"}},
	} {
		want := c.alias != deadletter.Alias{}
		c.alias.Namespace, c.alias.Letter = l.Namespace, l.ID
		if got, ok := l.Identified(c.source, c.identity); ok != want || l.Identity != c.own || ok && got != c.alias {
			t.Errorf("%s by %s: %+v, %v, and the letter has %s", c.identity, c.source, got, ok, l.Identity)
		}
	}
}

func TestLetterEditAndMaySend(t *testing.T) {
	t.Parallel()
	for _, s := range model.LetterStates {
		l := letterIn(s)
		err := l.Edit(&deadletter.Content{Payload: []byte(`{"a":2}`)})
		if s == model.LetterOpen || s == model.LetterScheduled {
			if err != nil || string(l.Outgoing().Payload) != `{"a":2}` || string(l.Original.Payload) != `{"a":1}` ||
				l.Version != 6 || l.State != s || l.Canonical != deadletter.Canonical(l.Outgoing()) {
				t.Errorf("edited: %+v, %v", l, err)
			}
			if err := l.Edit(nil); err != nil || string(l.Outgoing().Payload) != `{"a":1}` || l.Version != 7 ||
				l.Canonical != deadletter.Canonical(l.Original) {
				t.Errorf("edited back: %+v, %v", l, err)
			}
		} else if task.CodeOf(err) != task.WrongState || l.Edited != nil || l.Version != 5 {
			t.Errorf("%s is edited: %+v, %v", s, l, err)
		}
		if _, sends := letterIn(s).MaySend(false); sends != (s == model.LetterOpen || s == model.LetterScheduled) {
			t.Errorf("%s sends: %t", s, sends)
		}
	}
	l := letterIn(model.LetterOpen)
	l.Parked = true
	if why, ok := l.MaySend(false); ok || why == "" {
		t.Error("a parked letter is sent")
	}
	if why, ok := l.MaySend(true); !ok || why != "" {
		t.Error("a parked letter is not sent on request")
	}
	l.Cut = true
	if _, ok := l.MaySend(true); ok {
		t.Error("a cut payload is sent")
	}
	l.Edited = &deadletter.Content{}
	if _, ok := l.MaySend(true); !ok {
		t.Error("an edited letter is not sent")
	}
}
