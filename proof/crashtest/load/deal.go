package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/waits"
)

// deal runs a task whose steps wait for signals, and that is compensated if a step fails for good. Signals come early,
// late, repeatedly or never.
func (p *Producer) deal(ctx context.Context) error {
	o := order{Step: "ship", Special: p.Rand.IntN(2) == 0}
	o.Work = []string{"", workFlaky, workDoomed, workDoomed}[p.Rand.IntN(4)]
	o.Undo = []string{"", workFlaky, workDoomed, workSnooze, workPanic}[p.Rand.IntN(5)]
	if p.Rand.IntN(6) == 0 {
		o.Step = "close" // when there is more to undo
	}
	req := p.request("deal", o)
	req.IdempotencyKey = "key-" + req.CorrelationID
	if o.Work == workDoomed {
		p.Journal.Expect(req.CorrelationID, tasker.TaskError)
	}
	early := p.Rand.IntN(3) == 0
	if early {
		if err := p.signal(ctx, "paid", req.CorrelationID); err != nil {
			return err
		}
	}
	id, err := p.insist(ctx, req)
	if err != nil {
		return err
	}
	if p.Rand.IntN(10) == 0 {
		return p.drop(ctx, id)
	}
	if wait := p.Rand.IntN(4); wait > 0 { // a lost answer does not matter
		if _, err := p.Client.Task(ctx, id, decisionWait*timesLater[wait-1]); err != nil && !Lost(err) {
			return err
		}
	}
	if p.Rand.IntN(2) == 0 {
		if err := p.signal(ctx, "more", req.CorrelationID); err != nil {
			return err
		}
	}
	if !early || p.Rand.IntN(3) == 0 {
		if err := p.signal(ctx, "paid", req.CorrelationID); err != nil {
			return err
		}
	}
	return p.endDeal(ctx, id, req.CorrelationID)
}

// signal sends a signal until there is an answer: alone, or concurrently with a second one, with the same ID or
// another.
func (p *Producer) signal(ctx context.Context, name, ref string) error {
	p.n++
	first := waits.SignalRequest{Namespace: namespace, Name: name, Key: ref,
		SignalID: fmt.Sprintf("%s/%s/%d", name, ref, p.n)}
	first.Payload = json.RawMessage(fmt.Sprintf(`{"signal":%q}`, first.SignalID))
	list := []waits.SignalRequest{first}
	switch second := first; p.Rand.IntN(4) {
	case 0:
		list = append(list, second)
	case 1:
		second.SignalID += "b"
		second.Payload = json.RawMessage(fmt.Sprintf(`{"signal":%q}`, second.SignalID))
		list = append(list, second)
	}
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, req := range list {
		all.Go(func() {
			for {
				_, errs[i] = waits.Of(p.Client).SendSignal(ctx, req)
				if !Lost(errs[i]) {
					return
				}
				if errs[i] = p.Retry(ctx, errs[i]); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// endDeal waits for the end of a deal. Only compensation steps repair a failed one; some are cancelled then.
func (p *Producer) endDeal(ctx context.Context, id uuid.UUID, ref string) error {
	for tries := 0; ; tries++ {
		t, err := p.settled(ctx, id)
		if err != nil || t.State != tasker.TaskError {
			return err
		}
		undo, err := p.find(ctx, id, func(s *tasker.Step) bool { return s.OnFailure && s.State == tasker.StepError })
		if err != nil {
			return err
		}
		if undo != nil {
			if err := p.act(ctx, ref, undo, tasker.ResetForRetry, tries); err != nil {
				return err
			}
			continue
		}
		failed, err := p.find(ctx, id, func(s *tasker.Step) bool { return !s.OnFailure && s.State == tasker.StepError })
		if err != nil || failed == nil {
			return err
		}
		if err := p.act(ctx, ref, failed, tasker.ResetForRetry, tries); err != nil { // refused: it is compensated
			return err
		}
		if p.Rand.IntN(2) == 0 {
			return p.drop(ctx, id)
		}
		return nil
	}
}
