package crashtest

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/waits"
	"github.com/taskerhq/tasker/worker/protocol"
)

// SignalEnd is a signal at the end of a run.
type SignalEnd struct {
	Taken int64
	Gone  bool // the server had forgotten it
}

// SendSignal implements waits.Backend.
func (r *Recorder) SendSignal(ctx context.Context, req waits.SignalRequest) (*waits.Signal, error) {
	begin := r.journal.begin()
	r.tell(SignalSent)
	sent, err := r.Waits.SendSignal(ctx, req)
	if err == nil {
		r.tell(SignalAcked)
	}
	r.journal.write(begin, func(span Span) {
		s := Signal{Span: span, Answer: r.journal.answer("signal", err), ID: req.SignalID, Name: req.Name, Key: req.Key,
			Payload: req.Payload}
		if err == nil {
			s.ConfirmedAt = time.Now()
		}
		r.journal.Signals = append(r.journal.Signals, s)
	})
	return sent, err
}

// Approvals implements waits.Backend.
func (r *Recorder) Approvals(ctx context.Context, f waits.ApprovalFilter) (*waits.ApprovalPage, error) {
	return r.Waits.Approvals(ctx, f)
}

// Signals implements waits.Backend.
func (r *Recorder) Signals(ctx context.Context, f waits.SignalFilter) (*waits.SignalPage, error) {
	return r.Waits.Signals(ctx, f)
}

// ResendSignals repeats every accepted signal on an idle server, and notes its outcome: a second signal with an ID
// changes nothing. Check needs it.
func (r *Recorder) ResendSignals(ctx context.Context, namespace string) error {
	j := r.journal
	j.SignalEnds = map[string]SignalEnd{}
	for _, s := range j.Signals {
		if _, done := j.SignalEnds[s.ID]; done || !s.Accepted() {
			continue
		}
		sent, err := r.Waits.SendSignal(ctx, waits.SignalRequest{Namespace: namespace, Name: s.Name, Key: s.Key,
			SignalID: s.ID, Payload: s.Payload})
		if err != nil {
			return fmt.Errorf("send the signal %s again: %w", s.ID, err)
		}
		j.SignalEnds[s.ID] = SignalEnd{Taken: sent.Taken, Gone: sent.Created}
	}
	return nil
}

var _ interface {
	protocol.Backend
	waits.Backend
} = (*Recorder)(nil)
