package deadletter_test

import (
	"testing"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestLetterReturn(t *testing.T) {
	t.Parallel()
	l := letterIn(model.LetterRedriven)
	died := deadletter.Occurrence{At: now + 7, Group: 4, Attempts: 3, Position: "p2", Origin: "mails.v2", Handler: "send",
		Stack: "at f", Failure: failure.Report{Type: "E"}, Payload: []byte("x"), Redrive: redriveID,
		Details: []deadletter.Detail{{Name: "host", Value: "a"}}}
	o := l.Return(died, 1, 2, now+8)
	if o.No != 2 || o.Letter != l.ID || o.Redrive != redriveID || string(o.Payload) != "x" || o.At != now+7 {
		t.Fatalf("the occurrence is %+v", o)
	}
	if l.Occurrences != 2 || l.Attempts != 5 || l.Group != 4 || l.LastAt != now+7 || l.FirstAt != now || l.Parked ||
		l.Origin != "mails.v2" || l.Handler != "send" || l.Failure.Type != "E" || l.Stack != "at f" ||
		l.Position != "p2" || l.Replays != 1 || l.StateAt != now+8 || len(l.Details) != 1 || l.Version != 6 {
		t.Errorf("the letter is %+v", l)
	}
	// it returns before its send is recorded
	_ = l.Mark(redriveID, now)
	o = l.Return(deadletter.Occurrence{At: now + 20}, 2, 2, now+20)
	if l.State != model.LetterOpen || l.Replays != 2 || !l.Parked || o.No != 3 || l.Origin != "mails.v2" ||
		!o.Redrive.IsZero() || l.Position != "" {
		t.Errorf("unrecorded: %+v, %+v", l, o)
	}
	if task.CodeOf(l.Sent(2, now, day)) != task.WrongState || l.Replays != 2 {
		t.Errorf("it is sent twice: %+v", l)
	}
}

func TestLetterReturnOfASend(t *testing.T) {
	t.Parallel()
	const open, scheduled, redriving, redriven, discarded = model.LetterOpen, model.LetterScheduled, model.LetterRedriving,
		model.LetterRedriven, model.LetterDiscarded
	type fields struct {
		state   model.LetterState
		replays int
		unknown bool
		failed  int
		reason  string
	}
	for name, c := range map[string]struct {
		before fields
		no     int
		after  fields
	}{
		"Last":                  {fields{redriven, 2, false, 0, ""}, 2, fields{open, 2, false, 0, ""}},
		"Earlier":               {fields{redriven, 2, false, 0, ""}, 1, fields{open, 2, false, 0, ""}},
		"Unrecorded":            {fields{redriving, 1, false, 2, ""}, 2, fields{open, 2, false, 0, ""}},
		"SentAnew":              {fields{redriving, 1, false, 2, ""}, 1, fields{redriving, 1, false, 2, ""}},
		"SentAnewUnknown":       {fields{redriving, 1, true, 2, ""}, 1, fields{redriving, 1, true, 2, ""}},
		"UnrecordedUnknown":     {fields{redriving, 1, true, 2, ""}, 2, fields{open, 2, false, 0, ""}},
		"OpenTwice":             {fields{open, 2, false, 1, "left"}, 2, fields{open, 2, false, 0, ""}},
		"OpenUnknown":           {fields{open, 1, true, 1, "no answer"}, 2, fields{open, 2, false, 0, ""}},
		"OpenUnknownEarlier":    {fields{open, 1, true, 1, "no answer"}, 1, fields{open, 1, true, 0, ""}},
		"ScheduledUnknown":      {fields{scheduled, 0, true, 1, ""}, 1, fields{scheduled, 1, false, 0, ""}},
		"Discarded":             {fields{discarded, 1, false, 1, "old"}, 1, fields{open, 1, false, 0, ""}},
		"DiscardedUnknown":      {fields{discarded, 0, true, 1, "old"}, 1, fields{open, 1, false, 0, ""}},
		"ManyNumbersLater":      {fields{open, 1, false, 0, ""}, 7, fields{open, 7, false, 0, ""}},
		"AnEarlierAfterRestore": {fields{open, 3, false, 0, ""}, 1, fields{open, 3, false, 0, ""}},
	} {
		l := letterIn(c.before.state)
		l.Replays, l.Unknown, l.FailedSends, l.Reason = c.before.replays, c.before.unknown, c.before.failed, c.before.reason
		due := l.Due
		o := l.Return(deadletter.Occurrence{At: now + 7, Group: 4}, c.no, 0, now+8)
		if got := (fields{l.State, l.Replays, l.Unknown, l.FailedSends, l.Reason}); got != c.after {
			t.Errorf("%s: %+v, want %+v", name, got, c.after)
		}
		moved := c.before.state != c.after.state
		if (l.StateAt == now+8) != moved || l.Due != due || l.PurgeAt != 0 {
			t.Errorf("%s: %+v", name, l)
		}
		if o.No != 2 || l.Occurrences != 2 || l.Version != 6 || l.LastAt != now+7 || l.Group != 4 {
			t.Errorf("%s: %+v, %+v", name, o, l)
		}
	}
}

func TestLetterParks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		replays, lineage, no, bound int
		parked                      bool
	}{
		{3, 0, 3, 3, true}, {2, 0, 2, 3, false}, {2, 0, 3, 3, true}, {4, 0, 2, 3, true},
		{1, 2, 1, 3, true}, {1, 1, 1, 3, false}, {0, 2, 1, 3, true}, {0, 9, 1, 3, true},
		{999, 999, 1, 0, false}, {1, 0, 1, 1, true},
	} {
		l := letterIn(model.LetterRedriven)
		l.Replays, l.Lineage, l.Parked = c.replays, c.lineage, !c.parked
		l.Return(deadletter.Occurrence{}, c.no, c.bound, now)
		if l.Parked != c.parked || l.Sends() != max(c.replays, c.no)+c.lineage || l.Lineage != c.lineage {
			t.Errorf("%+v: %+v", c, l)
		}
	}
}

func TestLetterSentNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ replays, no, want int }{{0, 1, 1}, {1, 2, 2}, {1, 3, 3}, {3, 2, 3}, {2, 2, 2}} {
		l := letterIn(model.LetterRedriving)
		l.Replays = c.replays
		if err := l.Sent(c.no, now, day); err != nil || l.Replays != c.want {
			t.Errorf("send %d after %d: %d, %v", c.no, c.replays, l.Replays, err)
		}
	}
}

func TestLetterSupersedes(t *testing.T) {
	t.Parallel()
	l := letterIn(model.LetterOpen)
	l.Replays, l.Lineage = 1, 2
	if l.Supersede(); l.Replays != 1 {
		t.Errorf("nothing is unknown: %+v", l)
	}
	l.Unknown = true
	if l.Supersede(); l.Replays != 2 || l.Unknown || l.Lineage != 2 || l.State != model.LetterOpen {
		t.Errorf("superseded: %+v", l)
	}
	if l.Supersede(); l.Replays != 2 {
		t.Errorf("superseded twice: %+v", l)
	}
	// The abandoned send may still die, and the new send continues.
	_ = l.Mark(redriveID, now)
	if o := l.Return(deadletter.Occurrence{}, 2, 0, now); o.No != 2 || l.State != model.LetterRedriving || l.Replays != 2 {
		t.Errorf("the earlier send died: %+v, %+v", o, l)
	}
}
