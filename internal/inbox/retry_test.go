package inbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A policy's retries do not depend on the default of max_replays.
func TestPolicyOfTenRetries(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.policy(deadletter.Policy{Strategy: model.Fixed, Base: 10 * time.Second, MaxRetries: 10})
		got := r.die(dead(1, "Timeout"))[0]
		for n := range 10 {
			r.pass(10 * time.Second)
			r.want("sent", len(r.broker.sent), n+1)
			r.die(back(r.letter(got.Letter), "Timeout"))
		}
		l := r.letter(got.Letter)
		r.stands(got.Letter, model.LetterDiscarded, "policy: it was sent back 10 times; the policy allows 10")
		r.want("parked", l.Parked, true)
	})
}

// A policy without a source covers the sources of its namespace, even later ones; those of an origin, then of a source,
// come first.
func TestPolicyOfAllSources(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		save := func(p deadletter.Policy) {
			t.Helper()
			saved, err := r.SavePolicy(t.Context(), &p, inbox.By{Actor: "ann"})
			if err != nil {
				t.Fatal(err)
			}
			r.want("set by", []any{saved.SetBy, saved.SetFrom, saved.SetAt != 0}, "[ann operator true]")
		}
		save(deadletter.Policy{Namespace: "default", Origin: "orders", Strategy: model.Fixed, Base: time.Hour})
		save(deadletter.Policy{Namespace: "default", Source: "orders", Strategy: model.Manual})
		save(deadletter.Policy{Namespace: "default", Strategy: model.Immediate})
		r.stands(r.die(dead(1, "Timeout"))[0].Letter, model.LetterScheduled, "")
		other := dead(2, "Timeout")
		other.Origin = "refunds"
		r.stands(r.die(other)[0].Letter, model.LetterOpen, "")
		report := func(namespace string) task.ID {
			got, err := r.Report(t.Context(), namespace, "new", []inbox.Report{dead(3, "Timeout").Report})
			if err != nil {
				t.Fatal(err)
			}
			return got[0].Letter
		}
		r.stands(report("default"), model.LetterScheduled, "")
		r.stands(report("else"), model.LetterOpen, "")
		r.want("policies", len(must(r.Policies(t.Context(), "default"))), 3)
		r.refused(r.DropPolicy(t.Context(), "default", "", "nothing", inbox.By{}), task.NotFound)
		if err := r.DropPolicy(t.Context(), "default", "", "orders", inbox.By{}); err != nil {
			t.Fatal(err)
		}
		r.stands(r.die(dead(4, "Timeout"))[0].Letter, model.LetterOpen, "")
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Letters for an event platform have bounded retry headers that replace the last ones.
func TestRetryHeaders(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.policy(deadletter.Policy{Strategy: model.Immediate, MaxRetries: 9})
		var got [][]deadletter.Header
		r.broker.fails = func(o seam.Outgoing) error {
			got = append(got, o.Content.Headers)
			return nil
		}
		a := dead(1, "Timeout")
		a.Format, a.Failure.Message = "dlq_envelope", strings.Repeat("é", 4000)
		a.Content.Headers = []deadletter.Header{{Name: "a", Value: []byte("1")},
			{Name: deadletter.HeaderRetryCount, Value: []byte("7")}, {Name: "a", Value: []byte("2")}}
		id := r.die(a)[0].Letter
		r.pass(time.Second)
		r.die(back(r.letter(id), "Other"))
		r.pass(time.Second)
		plain := r.die(dead(2, "Timeout"))[0].Letter
		r.pass(time.Second)
		r.want("sends", len(got), 3)
		for i, headers := range got[:2] {
			values := map[string][]string{}
			for _, h := range headers {
				values[h.Name] = append(values[h.Name], string(h.Value))
			}
			r.want("a", values["a"], "[1 2]")
			r.want("count", values[deadletter.HeaderRetryCount], fmt.Sprintf("[%d]", i+1))
			r.want("replays", values[deadletter.HeaderReplays], fmt.Sprintf("[%d]", i+1))
			if text := values[deadletter.HeaderOriginalError]; len(text) != 1 || len(text[0]) > 1024 || text[0] == "" {
				t.Errorf("the error is %q", text)
			}
			at, err := time.Parse(time.RFC3339Nano, values[deadletter.HeaderRetryTimestamp][0])
			if err != nil || at.Sub(r.clock()).Abs() > time.Minute {
				t.Errorf("sent at %s (%v)", at, err)
			}
		}
		for _, h := range got[2] {
			if strings.HasPrefix(h.Name, "dlq_") {
				t.Errorf("the letter %s of another convention has the header %s", plain, h.Name)
			}
		}
	})
}

// A copy goes to the destination with -retry; its failure changes nothing.
func TestCopies(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.policy(deadletter.Policy{Strategy: model.Immediate, CopyRetries: true})
		first := r.die(dead(1, "Timeout"))[0].Letter
		r.pass(time.Second)
		r.want("sent", r.broker.to, "[default orders]")
		r.want("created", r.broker.queues["orders-retry"], false)

		r.broker.queues["orders-retry"] = true
		second := r.die(dead(2, "Timeout"))[0].Letter
		r.pass(time.Second)
		r.want("sent", r.broker.to, "[default orders default orders default orders-retry]")

		r.broker.fails = func(o seam.Outgoing) error {
			if strings.HasPrefix(o.SendID, "copy") {
				return errors.New("no room")
			}
			return nil
		}
		third := r.die(dead(3, "Timeout"))[0].Letter
		r.pass(time.Second)
		for _, id := range []task.ID{first, second, third} {
			r.stands(id, model.LetterRedriven, "")
			r.want("replays", r.letter(id).Replays, 1)
		}
	})
}

// One event for each origin and outcome, however many letters there are.
func TestLetterEvents(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		s := r.listen(tasker.EventFilter{Types: []tasker.EventType{tasker.EventLetterRetrying, tasker.EventLetterRetried,
			tasker.EventLetterDiscarded}})
		next := func(kind tasker.EventType, count int, result, why string) *tasker.LetterEvent {
			t.Helper()
			e := s.next()
			if e.Letters == nil {
				t.Fatalf("%+v", e)
			}
			r.want("event", []any{e.Type, e.Letters.Source, e.Letters.Origin, e.Letters.Count, e.Letters.Result,
				e.Letters.Kind}, []any{kind, "orders", "orders", count, result, why})
			return e.Letters
		}
		r.policy(deadletter.Policy{Strategy: model.Immediate, MaxRetries: 1, DiscardTests: true})
		many := make([]inbox.Arrival, 400)
		for i := range many {
			many[i] = dead(i, "Timeout")
		}
		r.die(many...)
		r.broker.fails = func(o seam.Outgoing) error {
			if o.Letter.MessageID == "m7" {
				return errors.New("refused")
			}
			return nil
		}
		r.pass(time.Second)
		first := next(tasker.EventLetterRetrying, 400, "", "")
		r.want("named", len(first.First), deadletter.MaxEventLetters)
		// the failed letter is discarded: its policy allows one retry
		r.want("discarded", next(tasker.EventLetterDiscarded, 1, "", "max_retries").First[0].MessageID, "m7")
		r.want("failed", next(tasker.EventLetterRetried, 1, "failed", "").Reason, "refused")
		next(tasker.EventLetterRetried, 399, "sent", "")

		test := dead(1000, "Timeout")
		test.MessageID = "test-1"
		id := r.die(test)[0].Letter
		r.stands(id, model.LetterDiscarded, "policy: "+deadletter.ReasonTest)
		next(tasker.EventLetterDiscarded, 1, "", "test_event")
		if _, err := r.RestoreLetter(t.Context(), id, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.DiscardLetter(t.Context(), id, inbox.By{Reason: "no use"}); err != nil {
			t.Fatal(err)
		}
		r.want("reason", next(tasker.EventLetterDiscarded, 1, "", "manual").Reason, "no use")
	})
}

// Counts never fall, whatever a message claims, and earlier attempts of a consumer are no replays.
func TestCountsNeverGoDown(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.policy(deadletter.Policy{Strategy: model.Immediate, MaxRetries: 1000, KeepExhausted: true})
		number := 0
		rapid.Check(t, func(rt *rapid.T) {
			number++
			a := dead(number, "Timeout")
			a.Format, a.Attempts = "dlq_envelope", rapid.IntRange(0, 9).Draw(rt, "attempts")
			id := r.die(a)[0].Letter
			if l := r.letter(id); l.Replays != 0 || l.Occurrences != 1 || l.Attempts != a.Attempts {
				rt.Fatalf("arrived: %+v", l)
			}
			for range rapid.IntRange(1, 6).Draw(rt, "steps") {
				before := r.letter(id)
				switch rapid.SampledFrom([]string{"send", "return", "repeat", "restore"}).Draw(rt, "step") {
				case "send":
					r.pass(time.Second)
				case "return":
					died := back(before, "Timeout")
					died.Attempts = rapid.IntRange(0, 9).Draw(rt, "claimed")
					r.die(died)
				case "repeat":
					r.die(a)
				case "restore":
					_, _ = r.DiscardLetter(t.Context(), id, inbox.By{Reason: "x"})
					_, _ = r.RestoreLetter(t.Context(), id, inbox.By{})
				}
				after := r.letter(id)
				if after.Replays < before.Replays || after.Occurrences < before.Occurrences ||
					after.Attempts < before.Attempts || after.FirstAt > before.FirstAt {
					rt.Fatalf("%+v became %+v", before, after)
				}
			}
		})
	})
}
