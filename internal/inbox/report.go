package inbox

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

// Bounds of what a message says of its failure, in bytes. That is evidence: it is cut with a mark, never refused. The
// message itself is kept whole or not taken.
const (
	maxName    = 255
	maxMessage = 4096
	maxStack   = 16 << 10
)

// HTTP is the driver of a source whose letters are reported. No node reads such a source; its letters are sent back by
// POST.
const HTTP = "http"

// checkReports refuses reports that break a rule, all or none, and reports all problems at once. Texts that may be long
// are not checked: capture cuts them.
func (in *Inbox) checkReports(source string, reports []Report) error {
	var problems, tooLarge []task.Problem
	bad := func(at, fault string) {
		if fault != "" {
			problems = append(problems, task.Problem{Location: at, Message: fault})
		}
	}
	if source == "" {
		bad("/source", "is missing: name the program or the queue that the messages come from")
	}
	bad("/source", task.TextFault(source, maxName))
	if len(reports) < 1 || len(reports) > maxReports {
		bad("/reports", fmt.Sprintf("must have 1 to %d entries, not %d", maxReports, len(reports)))
	}
	// A list that is too long is one problem, not thousands.
	for i, r := range reports[:min(len(reports), maxReports)] {
		at := "/reports/" + strconv.Itoa(i)
		bad(at+"/message_id", task.TextFault(r.MessageID, maxName))
		bad(at+"/origin", task.TextFault(r.Origin, maxName))
		bad(at+"/handler", task.TextFault(r.Handler, maxName))
		if r.Failure.Type == "" && r.Failure.Code == "" && r.Failure.Message == "" {
			bad(at+"/failure", "is missing: give its type, code or message")
		}
		if r.Attempts < 0 || r.Attempts > 1_000_000 {
			bad(at+"/attempts", "must be 0 to 1000000")
		}
		if r.FailedAt < 0 || r.FailedAt > in.now().Add(maxAhead) {
			bad(at+"/failed_at", "must not be in the future")
		}
		if fault := in.sizeFault(r.Content.Size()); fault != "" {
			tooLarge = append(tooLarge, task.Problem{Location: at, Message: fault})
		}
	}
	if len(problems) > 0 {
		return &task.Error{Code: task.Invalid, Message: "nothing was captured: the report is not valid",
			Problems: append(problems, tooLarge...)}
	}
	if len(tooLarge) > 0 {
		return &task.Error{Code: task.TooLarge, Message: "nothing was captured: a message is too large",
			Problems: tooLarge}
	}
	return nil
}

// maxAhead is how far the clock of a program that reports may be ahead.
const maxAhead = 5 * 60 * 1e9

// sizeFault is what is wrong with the size of a message: one that is too large to be kept whole is not taken.
func (in *Inbox) sizeFault(size int) string {
	if size <= in.opts.LetterBytes {
		return ""
	}
	return fmt.Sprintf("has %d bytes; a letter may have %d (engine.limits.letter_bytes)", size, in.opts.LetterBytes)
}

// bound cuts the texts of a failure, and finds its class if the message names none that is known.
func bound(r failure.Report) failure.Report {
	r.Type, r.Code = failure.Cut(r.Type, maxName), failure.Cut(r.Code, maxName)
	r.Message = failure.Cut(r.Message, maxMessage)
	if !r.Class.Known() {
		r.Class = failure.ClassOf(r)
	}
	return r
}

// maxDetails bounds the details of one death, in bytes of their values.
const maxDetails = 32 << 10

// boundDetails leaves out what is above the bound. Details come from a carrier, which has bounded each of them.
func boundDetails(list []deadletter.Detail) []deadletter.Detail {
	size := 0
	for i, d := range list {
		if size += len(d.Name) + len(d.Value); size > maxDetails {
			return list[:i]
		}
	}
	return list
}

// identify returns what makes a repeated delivery of a message recognisable: its position on its broker; of a report,
// the program's identifier with all that it reports. A message that has neither is always another one.
func (in *Inbox) identify(of *deadletter.Source, a *Arrival) string {
	switch {
	case a.Position != "":
		return deadletter.Identify(a.Position, "", a.Content)
	case of.Driver == HTTP && a.MessageID != "":
		f := &a.Failure
		report, _ := json.Marshal([]any{a.MessageID, a.Origin, a.Handler, a.FailedAt, f.Type, f.Code, f.Message,
			a.Letter, deadletter.Identify("", "", a.Content)}) // texts and numbers can be written
		return deadletter.Identify("", string(report), a.Content)
	}
	return deadletter.Identify("", in.newID().String(), a.Content)
}
