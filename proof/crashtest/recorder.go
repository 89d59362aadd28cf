package crashtest

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/waits"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Moment is a point in the life of a call.
type Moment string

// The moments that a Recorder tells of, just as they happen.
const (
	SubmitSent  Moment = "submit sent"
	BatchSent   Moment = "batch sent"
	SubmitAcked Moment = "submit acknowledged"
	HandedOut   Moment = "step handed out"
	ResultSent  Moment = "result sent"
	ResultAcked Moment = "result acknowledged"
	CancelSent  Moment = "cancel sent"
	ActSent     Moment = "act sent"
	LargeSent   Moment = "large result sent"
	LargeAcked  Moment = "large result acknowledged"
	SignalSent  Moment = "signal sent"
	SignalAcked Moment = "signal acknowledged"
)

// Recorder is a Backend that writes a Journal of its calls, and changes neither calls nor answers. It is safe for
// concurrent use if the Backend is.
type Recorder struct {
	protocol.Backend
	Waits   waits.Backend // of the same server, to send signals
	journal *Journal
	tell    func(Moment)
}

// Record returns a Recorder of b. tell is called at each Moment, in the goroutine of the caller, so that a killer can
// act before the call continues; nil tells nobody.
func Record(b protocol.Backend, j *Journal, tell func(Moment)) *Recorder {
	if tell == nil {
		tell = func(Moment) {}
	}
	return &Recorder{Backend: b, journal: j, tell: tell}
}

// answer classifies err. unavailable leaves the effect open, like a lost connection; internal is a fault of the server
// and leaves it open, too. The caller holds j.mu.
func (j *Journal) answer(verb string, err error) Answer {
	var e *tasker.Error
	switch {
	case err == nil:
		return Answer{Known: true}
	case !errors.As(err, &e):
		return Answer{} // the caller's own context ended
	case e.Code == tasker.CodeInternal:
		j.Faults = append(j.Faults, Fault{verb, err.Error()})
		return Answer{}
	case e.Code == tasker.CodeUnavailable:
		return Answer{}
	}
	return Answer{Known: true, Code: e.Code}
}

// item is answer for one item of a call. A nil *Error must not become an error.
func (j *Journal) item(verb string, err error, own *tasker.Error) Answer {
	if err == nil && own != nil {
		err = own
	}
	return j.answer(verb, err)
}

// SubmitTasks implements tasker.TaskBackend. Each task is an entry; those of one request share a span and a batch.
func (r *Recorder) SubmitTasks(ctx context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	begin := r.journal.begin()
	sent := SubmitSent
	if len(req.Tasks) > 1 {
		sent = BatchSent
	}
	r.tell(sent)
	receipts, err := r.Backend.SubmitTasks(ctx, req)
	if err == nil {
		r.tell(SubmitAcked)
	}
	r.journal.write(begin, func(span Span) {
		j, batch := r.journal, int64(0)
		if len(req.Tasks) > 1 {
			j.batches++
			batch = j.batches
		}
		for i, t := range req.Tasks {
			s := Submit{Span: span, Ref: t.CorrelationID, Batch: batch, Key: t.IdempotencyKey, Context: t.Context}
			var own *tasker.Error
			if err == nil {
				s.Task, s.Created, own = receipts[i].TaskUUID, receipts[i].Created, receipts[i].Error
			}
			s.Answer = j.item("submit", err, own)
			j.Submits = append(j.Submits, s)
		}
	})
	return receipts, err
}

// CancelTasks implements tasker.TaskBackend. Each task is an entry.
func (r *Recorder) CancelTasks(ctx context.Context, req tasker.CancelRequest) ([]tasker.TaskReceipt, error) {
	begin := r.journal.begin()
	r.tell(CancelSent)
	receipts, err := r.Backend.CancelTasks(ctx, req)
	r.journal.write(begin, func(span Span) {
		for i, id := range req.TaskUUIDs {
			var own *tasker.Error
			if err == nil {
				own = receipts[i].Error
			}
			r.journal.Cancels = append(r.journal.Cancels, Cancel{span, r.journal.item("cancel", err, own), id})
		}
	})
	return receipts, err
}

// ActOnStep implements tasker.TaskBackend. The reason identifies the act in the history.
func (r *Recorder) ActOnStep(ctx context.Context, task, step uuid.UUID, act tasker.StepAction) (*tasker.Step, error) {
	begin := r.journal.begin()
	r.tell(ActSent)
	after, err := r.Backend.ActOnStep(ctx, task, step, act)
	r.journal.write(begin, func(span Span) {
		a := Act{Span: span, Answer: r.journal.answer("act", err), Task: task, Step: step, Kind: act.ActionType,
			Reason: act.Reason}
		if act.CompletionData != nil {
			a.Result = act.CompletionData.Result
		}
		r.journal.Acts = append(r.journal.Acts, a)
	})
	return after, err
}
