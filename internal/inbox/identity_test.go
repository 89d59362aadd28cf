package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func bare(position string) inbox.Arrival {
	content := deadletter.Content{Payload: []byte(`{"job":"refresh"}`)}
	return inbox.Arrival{Report: inbox.Report{Origin: "orders", Content: content,
		Failure: failure.Report{Type: "Timeout", Message: "upstream timed out", Retryable: true}, Attempts: 3},
		Format: "raw", Position: position}
}

func bares(round string, n int) (list []inbox.Arrival) {
	for i := range n {
		list = append(list, bare(fmt.Sprintf("%s-%d", round, i)))
	}
	return list
}

func statuses(receipts []capture.Receipt) map[model.ReceiptStatus]int {
	count := map[model.ReceiptStatus]int{}
	for _, r := range receipts {
		count[r.Status]++
	}
	return count
}

// Equal messages without an ID are a multiset: n sends match n returns, and one more death is a letter.
func TestEqualJobsReturn(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.want("first", statuses(r.die(bares("a", 10)...)), "map[captured:10]")
		made := r.begin(deadletter.Plan{Observe: time.Minute}, nil)
		r.pass(time.Second)
		r.want("died again", statuses(r.die(bares("b", 11)...)), "map[captured:1 returned:10]")
		r.pass(2 * time.Minute)
		found := r.found(made.ID)
		r.want("the redrive", []any{found.State, found.Counts.Returned}, []any{model.RedriveHalted, 10})
	})
}

// Equal messages that die concurrently consume different sends.
func TestEqualJobsAtOnce(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.die(bares("a", 40)...)
		r.begin(deadletter.Plan{Canary: 40}, nil)
		r.pass(time.Second)
		orders := &deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory"}
		returned := make(chan int)
		for n := range 4 {
			go func() {
				got, err := r.Capture(t.Context(), orders, bares(fmt.Sprint("b", n), 10))
				if err != nil {
					t.Error(err)
				}
				returned <- statuses(got)[model.Returned]
			}()
		}
		sum := 0
		for range 4 {
			sum += <-returned
		}
		r.want("returned", sum, 40)
	})
}

// Three retries send twenty equal poisonous jobs sixty times, even if the consumer writes each death twice.
func TestEqualJobsUnderAPolicy(t *testing.T) {
	t.Parallel()
	for _, copies := range []int{1, 2} {
		t.Run(fmt.Sprint(copies), func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, r *rig) {
				r.policy(deadletter.Policy{Strategy: model.Immediate, MaxRetries: 3})
				r.die(bares("0", 20)...)
				for round := 1; round <= 10; round++ {
					before := len(r.broker.sent)
					r.pass(time.Second)
					if n := len(r.broker.sent) - before; n > 0 {
						r.die(bares(fmt.Sprint(round), copies*n)...)
					}
				}
				most := 60
				if copies == 2 { // 20, then one more for each of these 40, three deep
					most = 20 + 40 + 80
				}
				if n := len(r.broker.sent); n > most || copies == 1 && n != 60 {
					t.Errorf("%d sends of 20 jobs under max_retries 3", n)
				}
				before := len(r.broker.sent)
				r.pass(time.Hour)
				r.want("sends after the end", len(r.broker.sent)-before, 0)
			})
		})
	}
}

// An equal job of another source is another job.
func TestContentCrossesNoSource(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		other := &deadletter.Source{Namespace: "default", Name: "other", Driver: "memory", Queue: "other.dlq"}
		r.source(*other)
		id := r.die(bare("a"))[0].Letter
		r.again()
		job := bare("b")
		job.Origin = "others"
		got, err := r.Capture(t.Context(), other, []inbox.Arrival{job})
		if err != nil {
			t.Fatal(err)
		}
		r.want("the job of the other source", got[0].Status, model.Captured)
		r.want("the letter", r.letter(id).State, model.LetterRedriven)
	})
}

// Without positions, messages with one ID are several, linked in order.
func TestSharedMessageIDs(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		event := func(what string) inbox.Arrival {
			a := dead(7, "Timeout")
			a.Receiver, a.Content.Payload = "node", fmt.Appendf(nil, `{"order":7,"is":%q}`, what)
			return a
		}
		var before task.ID
		for _, what := range []string{"created", "paid", "shipped"} {
			got := r.die(event(what))[0]
			r.want(what, got.Status, model.Captured)
			link := deadletter.Link{}
			if !before.IsZero() {
				link = deadletter.Link{Kind: deadletter.LinkID, Letter: before}
			}
			r.want("link", r.letter(got.Letter).Link, link)
			r.want("sends", r.letter(got.Letter).Sends(), 0)
			before = got.Letter
		}
		r.again()
		r.want("another one", r.die(event("returned"))[0].Status, model.Captured)
		r.want("the same one", r.die(event("paid"))[0].Status, model.Returned)
		r.want("and once more", r.die(event("paid"))[0].Status, model.Captured)
	})
}

// A consumer publishes another message with the headers of one that was sent back. Its death is a new letter.
func TestCopiedHeaders(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.broker.queues["invoices"] = true
		order := dead(1, "Timeout")
		order.MessageID, order.Position = "", "orders.dlq/0@1"
		id := r.die(order)[0].Letter
		r.again()
		invoice := inbox.Arrival{Report: inbox.Report{Origin: "invoices", Handler: "mail", Letter: id,
			Content: deadletter.Content{Payload: []byte(`{"invoice":"I-1"}`)},
			Failure: failure.Report{Type: "SMTP", Message: "mailbox full", Retryable: true}}, Format: "tasker", Replays: 1,
			Position: "invoices.dlq/0@7"}
		got := r.die(invoice)[0]
		r.want("the invoice", got.Status, model.Captured)
		l := r.letter(got.Letter)
		r.want("its link", []any{l.Link, l.Sends()}, []any{deadletter.Link{Kind: deadletter.LinkHeader, Letter: id}, 0})
		r.want("the order", r.letter(id).State, model.LetterRedriven)
		r.again()
		r.want("sent", []any{r.broker.to[len(r.broker.to)-1], string(r.broker.got[got.Letter.String()])},
			[]any{"default invoices", `{"invoice":"I-1"}`})
		forwarded := back(r.letter(id), "Forwarded") // the same content, elsewhere
		forwarded.Position, forwarded.Origin = "elsewhere", "orders.slow"
		r.want("forwarded", r.die(forwarded)[0].Status, model.Captured)
		r.want("the order itself", r.die(back(r.letter(id), "Schema"))[0].Status, model.Returned)
	})
}

// A consumer changes a failed message: each death is a letter, but the loop guard counts along the lineage.
func TestChangedByItsConsumer(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(l *deadletter.Letter, round int) inbox.Arrival{
		"Headers": func(l *deadletter.Letter, round int) inbox.Arrival {
			return back(l, "Timeout")
		},
		"OneHeader": func(l *deadletter.Letter, round int) inbox.Arrival { // without the number of the send
			a := back(l, "Timeout")
			a.Replays = 0
			return a
		},
		"EventID": func(_ *deadletter.Letter, round int) inbox.Arrival {
			a := dead(1, "Timeout")
			a.Format, a.MessageID = "dlq_envelope", "event-1"
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, r *rig) {
				r.policy(deadletter.Policy{Strategy: model.Immediate, MaxRetries: 4})
				first := dead(1, "Timeout")
				first.Format, first.MessageID = "dlq_envelope", "event-1"
				last := r.die(first)[0].Letter
				for round := range 10 {
					before := len(r.broker.sent)
					r.pass(time.Second)
					if len(r.broker.sent) == before {
						break
					}
					died := again(r.letter(last), round)
					died.Position = fmt.Sprint("round/", round)
					died.Content.Payload = fmt.Appendf(nil, `{"round":%d}`, round)
					got := r.die(died)[0]
					r.want("what was changed", got.Status, model.Captured)
					last = got.Letter
				}
				r.want("sent", len(r.broker.sent), 4)
				r.want("the last one", r.letter(last).State, model.LetterDiscarded)
			})
		})
	}
}

// An event without headers is recognised by its ID within its source.
func TestEventWithoutHeaders(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.policy(deadletter.Policy{Strategy: model.Immediate, MaxRetries: 4})
		event := func(round int) inbox.Arrival {
			a := dead(1, "Timeout")
			a.Format, a.MessageID, a.Position = "dlq_envelope", "event-1", fmt.Sprint("t/0@", round)
			return a
		}
		id := r.die(event(0))[0].Letter
		for round := 1; round <= 4; round++ {
			r.pass(time.Second)
			r.want("died again", r.die(event(round))[0], capture.Receipt{Letter: id, Group: r.letter(id).Group,
				Status: model.Returned})
		}
		r.pass(time.Hour)
		r.want("sent", len(r.broker.sent), 4)
	})
}

// Consumer clocks decide nothing: a death is a return even if that clock is behind, or counts seconds.
func TestSkewedClocks(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for n, skew := range []time.Duration{3 * time.Second, -3 * time.Second, 0, -24 * time.Hour} {
			first := dead(n, "Timeout")
			first.FailedAt = task.At(r.clock().Add(3 * time.Second))
			id := r.die(first)[0].Letter
			r.again()
			second := dead(n, "Timeout")
			second.FailedAt = first.FailedAt.Add(skew)
			r.want(skew.String(), r.die(second)[0], capture.Receipt{Letter: id, Group: r.letter(id).Group,
				Status: model.Returned})
		}
	})
}

// A failure after a resolution opens the group, whatever the consumer's clock says.
func TestRegressionByASlowClock(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		g := r.die(dead(1, "Timeout"))[0].Group
		r.pass(time.Minute)
		if _, err := r.ChangeGroup(t.Context(), g, groups.GroupChange{State: model.GroupResolved}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		late := dead(2, "Timeout")
		late.FailedAt = task.At(r.clock().Add(-10 * time.Second))
		r.die(late)
		r.pass(time.Second)
		r.want("groups", joined(r.groups()), "Timeout open 2")
	})
}

// A repeated report is a duplicate; any difference makes another, and a claimed letter ID proves nothing.
func TestReports(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		report := func(change func(*inbox.Report)) capture.Receipt {
			t.Helper()
			a := inbox.Report{MessageID: "m1", Origin: "invoices", Handler: "mail", FailedAt: task.At(r.clock()),
				Content: deadletter.Content{Payload: []byte(`{"invoice":"I-1"}`)}, Failure: failure.Report{Type: "SMTP",
					Message: "mailbox full"}}
			change(&a)
			got, err := r.Report(t.Context(), "default", "billing", []inbox.Report{a})
			if err != nil {
				t.Fatal(err)
			}
			return got[0]
		}
		id := r.die(dead(1, "Timeout"))[0].Letter
		first := report(func(*inbox.Report) {})
		r.want("again", report(func(*inbox.Report) {}), capture.Receipt{Letter: first.Letter, Group: first.Group,
			Status: model.Duplicate})
		for name, change := range map[string]func(*inbox.Report){
			"content":        func(a *inbox.Report) { a.Content.Payload = []byte(`{"invoice":"I-2"}`) },
			"header":         func(a *inbox.Report) { a.Content.Headers = []deadletter.Header{{Name: "a", Value: []byte("b")}} },
			"time":           func(a *inbox.Report) { a.FailedAt++ },
			"error":          func(a *inbox.Report) { a.Failure.Message = "mailbox gone" },
			"letter":         func(a *inbox.Report) { a.Letter = id },
			"no ID":          func(a *inbox.Report) { a.MessageID = "" },
			"no ID, again":   func(a *inbox.Report) { a.MessageID = "" },
			"letter, no ID":  func(a *inbox.Report) { a.Letter, a.MessageID = id, "" },
			"unknown letter": func(a *inbox.Report) { a.Letter = task.MakeID(9, 9) },
		} {
			r.want(name, report(change).Status, model.Captured)
		}
		r.want("the letter that is named", r.letter(id).Occurrences, 1)
	})
}
