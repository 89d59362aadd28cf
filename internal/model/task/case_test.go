package task_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func aCase() *task.Case {
	return task.NewCase(task.MakeID(1, 1), &task.Task{ID: task.MakeID(2, 2), DefID: 7}, task.StepsInProcess,
		task.ReasonManual, now)
}

func note(s string) *string { return &s }

func TestNewCase(t *testing.T) {
	t.Parallel()
	c := aCase()
	if c.Status != task.CasePending || c.Occurrences != 1 || c.OpenedAt != now || c.OccurredAt != now ||
		c.DefID != 7 || c.OriginalState != task.StepsInProcess {
		t.Errorf("it is opened as %+v", c)
	}
}

func TestChangeCase(t *testing.T) {
	t.Parallel()
	c := aCase()
	act, err := c.Change(task.CaseChange{Notes: note("looking"), Actor: "ann", Key: "k",
		Metadata: []byte(`{"a":1}`)}, now+1)
	if err != nil || act.Kind != task.ActUpdateCase || act.From != "pending" || act.To != "pending" ||
		act.Reason != "looking" || string(act.Data) != `{"a":1}` {
		t.Fatalf("the act is %+v, %v", act, err)
	}
	if c.Notes != "looking" || c.NoteCount != 1 || c.Status != task.CasePending || c.ResolvedAt != 0 ||
		c.ResolvedBy != "" || c.ResolvedKey != "" || c.UpdatedAt != now+1 || string(c.Metadata) != `{"a":1}` {
		t.Fatalf("after a note the case is %+v", c)
	}
	if _, err := c.Change(task.CaseChange{Status: task.CasePending, Actor: "ann"}, now+2); err != nil ||
		c.ResolvedAt != 0 || c.ResolvedBy != "" {
		t.Fatalf("pending as before: %+v, %v", c, err)
	}
	if _, err := c.Change(task.CaseChange{Reopen: true}, now+2); task.CodeOf(err) != task.WrongState {
		t.Fatalf("a pending case is opened again: %v", err)
	}
	act, err = c.Change(task.CaseChange{Status: task.CaseResolved, Notes: note("fixed"), Actor: "bob", Key: "b"}, now+3)
	if err != nil || act.From != "pending" || act.To != "manually_resolved" || c.ResolvedAt != now+3 ||
		c.ResolvedBy != "bob" || c.ResolvedKey != "b" || c.Notes != "fixed" {
		t.Fatalf("resolved: %+v, %+v, %v", act, c, err)
	}
	for name, ch := range map[string]task.CaseChange{
		"Resolution": {Status: task.CaseFailed}, "SameResolution": {Status: task.CaseResolved},
		"Metadata": {Metadata: []byte(`{}`)}, "Nothing": {},
		"EmptyNote": {Notes: note("")}, "NoteAndResolution": {Notes: note("n"), Status: task.CaseFailed},
		"NoteAndMetadata": {Notes: note("n"), Metadata: []byte(`{}`)},
	} {
		if _, err := c.Change(ch, now+4); task.CodeOf(err) != task.WrongState {
			t.Errorf("%s of a resolved case: %v", name, err)
		}
	}
	if _, err = c.Change(task.CaseChange{Notes: note("late"), Actor: "cy"}, now+5); err != nil ||
		c.Notes != "fixed" || c.NoteCount != 3 || c.ResolvedAt != now+3 || c.ResolvedBy != "bob" {
		t.Fatalf("after a late note: %+v, %v", c, err)
	}
	act, err = c.Change(task.CaseChange{Reopen: true, Notes: note("again"), Actor: "cy"}, now+6)
	if err != nil || act.Kind != task.ActReopenCase || act.From != "manually_resolved" || act.To != "pending" ||
		c.Notes != "again" || c.ResolvedAt != 0 || c.ResolvedBy != "" || c.ResolvedKey != "" {
		t.Fatalf("opened again: %+v, %+v, %v", act, c, err)
	}
}

func TestChangeCaseRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change task.CaseChange
		want   task.Code
	}{
		"Unknown":    {task.CaseChange{Status: "forgotten"}, task.WrongState},
		"NoObject":   {task.CaseChange{Metadata: []byte(`[1]`)}, task.Invalid},
		"LongThread": {task.CaseChange{Notes: note(string(make([]byte, task.MaxNoteBytes+1)))}, task.TooLarge},
	} {
		k := aCase()
		if _, err := k.Change(c.change, now+1); task.CodeOf(err) != c.want || k.Status != task.CasePending ||
			k.Metadata != nil || k.NoteCount != 0 || k.UpdatedAt != now {
			t.Errorf("%s: %v, and the case is %+v", name, err, k)
		}
	}
}

func TestMergeObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ object, changes, want string }{
		{"", "", ""},
		{`{"a":1}`, "", `{"a":1}`},
		{"", `{"a":1}`, `{"a":1}`},
		{`{"a":1,"b":2}`, `{"a":null,"c":3}`, `{"b":2,"c":3}`},
		{`{"a":1}`, `{"a":{"b":null}}`, `{"a":{"b":null}}`}, // not a merge patch: members are replaced whole
		{`{"a":1}`, `{"a":null}`, ""},
		{"", `{}`, ""},
		{`{"a":1}`, `null`, "invalid"},
		{`{"a":1}`, `[]`, "invalid"},
		{`[]`, `{"a":1}`, "invalid"},
	} {
		bytes := func(s string) []byte {
			if s == "" {
				return nil
			}
			return []byte(s)
		}
		got, err := task.MergeObject(bytes(c.object), bytes(c.changes))
		if c.want == "invalid" {
			if task.CodeOf(err) != task.Invalid {
				t.Errorf("%s with %s: %s, %v", c.object, c.changes, got, err)
			}
			continue
		}
		if err != nil || string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("%s with %s is %s, %v, want %s", c.object, c.changes, got, err, c.want)
		}
	}
}

func TestRecur(t *testing.T) {
	t.Parallel()
	c := aCase()
	first := c.Latest()
	if first.No != 1 || first.At != now || first.Reason != task.ReasonManual || c.Dropped() != 0 {
		t.Errorf("the first is %+v", first)
	}
	o := task.Occurrence{At: now + 9, Reason: task.ReasonMaxRetries, Cause: task.CauseNoRetries,
		OriginalState: task.WaitingForRetry, Fingerprint: "F", Retryable: true,
		Step: "s", Class: "logic", Message: "m", Snapshot: []byte(`{}`)}
	c.Recur(o)
	got := c.Latest()
	if got.No != 2 || got.At != now+9 || got.Reason != task.ReasonMaxRetries || got.Fingerprint != "F" ||
		got.Step != "s" || c.UpdatedAt != now+9 || c.OpenedAt != now {
		t.Errorf("the second is %+v", got)
	}
	c.Occurrences, c.Former = 5, []task.Occurrence{{No: 1}, {No: 4}}
	if c.Dropped() != 2 {
		t.Errorf("%d of 5 are dropped, want 2", c.Dropped())
	}
	if from := task.KeptFrom(20); from != 12 { // 1, then 12 to 20: ten
		t.Errorf("kept from %d, want 12", from)
	}
}
