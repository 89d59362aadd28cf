package capture

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Bounds of the evidence of a failure, in bytes. Longer texts are cut with a mark, never refused. The message itself is
// kept whole or not taken.
const maxMessage, maxStack = 4096, 16 << 10

func (in *Capturer) checkReports(source string, reports []seam.Report) error {
	var problems, tooLarge desk.Faults
	problems.When(source == "", "/source", "is missing: name the program or the queue that the messages come from")
	problems.Add("/source", task.TextFault(source, desk.MaxName))
	problems.When(len(reports) < 1 || len(reports) > maxReports, "/reports",
		fmt.Sprintf("must have 1 to %d entries, not %d", maxReports, len(reports)))
	// One problem for a list that is too long, not thousands.
	for i, r := range reports[:min(len(reports), maxReports)] {
		at := "/reports/" + strconv.Itoa(i)
		problems.Add(at+"/message_id", task.TextFault(r.MessageID, desk.MaxName))
		problems.Add(at+"/origin", task.TextFault(r.Origin, desk.MaxName))
		problems.Add(at+"/handler", task.TextFault(r.Handler, desk.MaxName))
		problems.When(r.Failure.Type == "" && r.Failure.Code == "" && r.Failure.Message == "", at+"/failure",
			"is missing: give its type, code or message")
		problems.When(r.Attempts < 0 || r.Attempts > 1_000_000, at+"/attempts", "must be 0 to 1000000")
		problems.When(r.FailedAt < 0 || r.FailedAt > in.Now().Add(maxAhead), at+"/failed_at", "must not be in the future")
		tooLarge.Add(at, in.SizeFault(r.Content.Size()))
	}
	e := &task.Error{Code: task.Invalid, Message: "nothing was captured: the report is not valid",
		Problems: append(problems, tooLarge...)}
	switch {
	case len(e.Problems) == 0:
		return nil
	case len(problems) == 0:
		e.Code, e.Message = task.TooLarge, "nothing was captured: a message is too large"
	}
	return e
}

// maxAhead is how far a reporting program's clock may be ahead.
const maxAhead = 5 * time.Minute

func bound(r failure.Report) failure.Report {
	r.Type, r.Code = failure.Cut(r.Type, desk.MaxName), failure.Cut(r.Code, desk.MaxName)
	r.Message = failure.Cut(r.Message, maxMessage)
	if !r.Class.Known() {
		r.Class = failure.ClassOf(r)
	}
	return r
}

const maxDetails = 32 << 10

// boundDetails drops details beyond maxDetails bytes. The carrier has bounded each of them.
func boundDetails(list []deadletter.Detail) []deadletter.Detail {
	size := 0
	for i, d := range list {
		if size += len(d.Name) + len(d.Value); size > maxDetails {
			return list[:i]
		}
	}
	return list
}

// Identify returns the identity of a message: its position on its broker, or the identifier and content of a report.
// Without either, a message is always new.
func (in *Capturer) Identify(of *deadletter.Source, a *seam.Arrival) string {
	switch {
	case a.Position != "":
		return deadletter.Identify(a.Position, "", a.Content)
	case of.Driver == deadletter.DriverHTTP && a.MessageID != "":
		f := &a.Failure
		report, _ := json.Marshal([]any{a.MessageID, a.Origin, a.Handler, a.FailedAt, f.Type, f.Code, f.Message,
			a.Letter, deadletter.Identify("", "", a.Content)})
		return deadletter.Identify("", string(report), a.Content)
	}
	return deadletter.Identify("", in.NewID().String(), a.Content)
}

// prepared is an arrival with all that follows from it alone. It is made before the transaction, to keep that short,
// and is immutable: the transaction may run again.
type prepared struct {
	*seam.Arrival
	no        int
	batch     string
	identity  string
	canonical string
	eventType string
	failure   failure.Report
	stack     string
	print     failure.Print // without rules
}

func (in *Capturer) prepare(of *deadletter.Source, arrivals []seam.Arrival) []prepared {
	all := make([]prepared, len(arrivals))
	batch := rand.Text()
	for i := range arrivals {
		a := &arrivals[i]
		p := prepared{Arrival: a, no: i, batch: batch, identity: in.Identify(of, a), failure: bound(a.Failure),
			stack: failure.Cut(a.Stack, maxStack),
			print: failure.PrintOf(a.Failure, a.Stack, cmp.Or(a.Handler, of.Name))}
		p.canonical, p.eventType = deadletter.Canonical(a.Content), deadletter.EventType(a.Content)
		all[i] = p
	}
	return all
}

// room refuses to capture when a source has too many open letters: the broker keeps the messages. The last batch may
// exceed the bound.
func (in *Capturer) room(ctx context.Context, of *deadletter.Source) error {
	if of.MaxOpen == 0 {
		return nil
	}
	// Before the transaction: counting reads up to MaxOpen rows, and must not hold up the writer.
	open, err := in.store.OpenLetters(ctx, of.Namespace, of.Name, of.MaxOpen+1)
	if err != nil || open < of.MaxOpen {
		return err
	}
	return desk.Hinted(task.Exhausted, "redrive or discard letters, or raise max_open of the source",
		"the source %s has as many open letters as it may have; nothing was captured", of.Name)
}

// Receipt is the answer to a captured message: its letter, and the group of its failure.
type Receipt struct {
	Letter task.ID
	Group  deadletter.GroupID
	Status model.ReceiptStatus
}

func (in *Capturer) observeCaptured(of *deadletter.Source, arrivals []prepared, receipts []Receipt) {
	type key struct {
		origin, event string
		outcome       model.ReceiptStatus
	}
	now, ages := in.Now(), map[key][]time.Duration{}
	for i := range arrivals {
		a := &arrivals[i]
		k := key{a.Origin, a.eventType, receipts[i].Status}
		died := now
		if a.FailedAt > 0 {
			died = min(now, a.FailedAt)
		}
		ages[k] = append(ages[k], now.Sub(died))
	}
	for k, list := range ages {
		in.Observer.Captured(of.Namespace, of.Name, k.origin, k.event, string(k.outcome), list)
	}
}
