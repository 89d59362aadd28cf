package crashtest

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Poll implements protocol.WorkerBackend. It notes only steps that arrived: what a lost answer had handed out shows in
// the history.
func (r *Recorder) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
	begin := r.journal.begin()
	resp, err := r.Backend.Poll(ctx, req)
	r.journal.write(begin, func(span Span) {
		j := r.journal
		if a := j.answer("poll", err); !a.Accepted() {
			return
		}
		for _, s := range resp.Steps {
			h := Handout{Span: span, Worker: req.WorkerID, Step: s.StepUUID, Task: s.TaskUUID,
				Token: s.Token, Lease: LeaseNo(s.Token), Parents: j.parents(&s)}
			j.Handouts = append(j.Handouts, h)
			if j.latest[s.StepUUID].Lease < h.Lease {
				j.latest[s.StepUUID] = h
			}
		}
	})
	if err == nil && len(resp.Steps) > 0 {
		r.tell(HandedOut)
	}
	return resp, err
}

// Settle implements protocol.WorkerBackend. Each result is an entry.
func (r *Recorder) Settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	begin := r.journal.begin()
	r.tell(ResultSent)
	answers, err := r.Backend.Settle(ctx, req)
	if err == nil {
		r.tell(ResultAcked)
	}
	r.journal.write(begin, func(span Span) {
		j := r.journal
		for i, s := range req.Results {
			var own *tasker.Error
			if err == nil {
				own = answers[i].Error
			}
			report := Report{Span: span, Answer: j.item("settle", err, own), Verb: VerbResult, Worker: req.WorkerID,
				Step: s.StepUUID, Token: s.Token, Lease: LeaseNo(s.Token),
				Status: s.Status, Result: s.Result}
			if s.LargeResult != "" {
				report.Result = j.large[s.LargeResult]
			}
			j.Reports = append(j.Reports, report)
			if report.Accepted() {
				j.ended[protocol.LeaseRef{StepUUID: s.StepUUID, Token: s.Token}] = true
				j.taken = append(j.taken, report)
			}
		}
	})
	return answers, err
}

// Start implements protocol.WorkerBackend.
func (r *Recorder) Start(ctx context.Context, req protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
	begin := r.journal.begin()
	answers, err := r.Backend.Start(ctx, req)
	r.leases(begin, VerbStart, req.WorkerID, req.Steps, answers, err)
	return answers, err
}

// Progress implements protocol.WorkerBackend.
func (r *Recorder) Progress(ctx context.Context, report protocol.ProgressReport) (*protocol.LeaseAnswer, error) {
	begin := r.journal.begin()
	answer, err := r.Backend.Progress(ctx, report)
	var answers []protocol.LeaseAnswer
	if err == nil {
		answers = []protocol.LeaseAnswer{*answer}
	}
	r.leases(begin, VerbProgress, report.WorkerID, []protocol.LeaseRef{{StepUUID: report.StepUUID, Token: report.Token}},
		answers, err)
	return answer, err
}

// Heartbeat implements protocol.WorkerBackend.
func (r *Recorder) Heartbeat(ctx context.Context, beat protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
	begin := r.journal.begin()
	resp, err := r.Backend.Heartbeat(ctx, beat)
	var answers []protocol.LeaseAnswer
	if err == nil {
		answers = resp.Leases
	}
	r.leases(begin, VerbHeartbeat, beat.WorkerID, beat.Steps, answers, err)
	return resp, err
}

// leases notes the answers about some leases.
func (r *Recorder) leases(begin int64, verb string, worker uuid.UUID, refs []protocol.LeaseRef,
	answers []protocol.LeaseAnswer, err error) {
	r.journal.write(begin, func(span Span) {
		j := r.journal
		if err == nil && len(answers) != len(refs) {
			j.Faults = append(j.Faults, Fault{verb, fmt.Sprintf("%d answers for %d leases", len(answers), len(refs))})
			return
		}
		for i, ref := range refs {
			report := Report{Span: span, Verb: verb, Worker: worker,
				Step: ref.StepUUID, Token: ref.Token, Lease: LeaseNo(ref.Token)}
			if err != nil {
				report.Answer = j.answer(verb, err)
			} else {
				report.Answer = leaseAnswer(&answers[i])
			}
			j.Reports = append(j.Reports, report)
		}
	})
}

// leaseAnswer converts the answer about one lease; a lease that is lost is refused with stale_token.
func leaseAnswer(a *protocol.LeaseAnswer) Answer {
	switch {
	case a.Status == protocol.LeaseHeld:
		return Answer{Known: true}
	case a.Error != nil:
		return Answer{Known: true, Code: a.Error.Code}
	}
	return Answer{Known: true, Code: tasker.CodeStaleToken}
}
