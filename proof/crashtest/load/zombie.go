package load

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Zombie is a worker that hoards steps without heartbeats until others have them, and then reports under its old
// tokens. Sometimes it works, so that the server keeps it.
type Zombie struct {
	Name    string
	Rand    *rand.Rand
	Backend protocol.Backend // a recorder
	Retry   Retry
	Journal *crashtest.Journal

	me      uuid.UUID
	hoarded []protocol.Assignment
}

// maxHoarded bounds the hoarded steps.
const maxHoarded = 6

// Run continues until stop is closed. It fails on a wrong refusal; Check judges wrong acceptances.
func (z *Zombie) Run(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if err := z.turn(ctx); err != nil {
			if !Lost(err) {
				return fmt.Errorf("zombie %s: %w", z.Name, err)
			}
			if err := z.Retry(ctx, err); err != nil {
				return err
			}
		}
	}
}

// turn polls once, works on some steps, hoards others, and reports under old tokens.
func (z *Zombie) turn(ctx context.Context) error {
	if z.me == uuid.Nil {
		w, err := z.Backend.RegisterWorker(ctx, protocol.WorkerRegistration{Name: z.Name,
			Namespaces: []string{namespace}, Handlers: Names()})
		if err != nil {
			return err
		}
		z.me = w.WorkerID
	}
	// Half of the polls leave the steps assigned, to be started by a separate call.
	resp, err := z.Backend.Poll(ctx, protocol.PollRequest{WorkerID: z.me, Capacity: 1 + z.Rand.IntN(3), WaitMS: 300,
		Start: z.Rand.IntN(2) == 0})
	if err != nil {
		return err
	}
	for _, a := range resp.Steps {
		if z.waiting() < maxHoarded && z.Rand.IntN(2) == 0 {
			z.hoarded = append(z.hoarded, a)
			continue
		}
		if err := z.work(ctx, a); err != nil {
			return err
		}
	}
	return z.haunt(ctx)
}

// waiting counts hoarded steps that no other worker has yet.
func (z *Zombie) waiting() int {
	n := 0
	for _, a := range z.hoarded {
		if !z.Journal.Obsolete(a.StepUUID, a.Token) {
			n++
		}
	}
	return n
}

// work carries out a step by hand, in the smallest steps of the protocol.
func (z *Zombie) work(ctx context.Context, a protocol.Assignment) error {
	if a.State == tasker.StepAssigned {
		_, err := z.Backend.Start(ctx, protocol.StartRequest{WorkerID: z.me,
			Steps: []protocol.LeaseRef{{StepUUID: a.StepUUID, Token: a.Token}}})
		if err != nil {
			return err
		}
	}
	result, err := Result(a, z.Name)
	if err != nil {
		return err
	}
	_, err = z.Backend.Settle(ctx, protocol.SettleRequest{WorkerID: z.me, Results: []protocol.StepResult{result}})
	return err
}

// Result is what a worker reports who carries out a step by hand, in the name of
// by. A step that is to fail is given back: its failure is for workers of the
// SDK to report.
func Result(a protocol.Assignment, by string) (protocol.StepResult, error) {
	result := protocol.StepResult{StepUUID: a.StepUUID, Token: a.Token, Status: protocol.ResultReleased}
	var o order
	if err := json.Unmarshal(a.Parameters, &o); err != nil {
		return result, fmt.Errorf("read the order of step %s: %w", a.StepUUID, err)
	}
	if o = o.own(); o.Work == workDoomed {
		return result, nil
	}
	body, err := json.Marshal(output{Ref: o.Ref, Step: a.StepName, Token: a.Token, By: by, Parents: a.ParentResults})
	if err != nil {
		return result, fmt.Errorf("make the result of step %s: %w", a.StepUUID, err)
	}
	result.Status, result.Result = protocol.ResultCompleted, body
	return result, nil
}

// haunt reports hoarded steps that others have, old results, foreign leases, and invented leases. The server must
// refuse all; a refusal is not an error.
func (z *Zombie) haunt(ctx context.Context) error {
	for range 3 {
		step, token := z.prey()
		if step == uuid.Nil {
			continue
		}
		if err := z.intrude(ctx, step, token); err != nil {
			return err
		}
	}
	return nil
}

// prey picks a lease that is not in force, or not this worker's; uuid.Nil for none.
func (z *Zombie) prey() (uuid.UUID, string) {
	switch kind := z.Rand.IntN(10); {
	case kind < 4 && len(z.hoarded) > 0:
		i := z.Rand.IntN(len(z.hoarded))
		if a := z.hoarded[i]; z.Journal.Obsolete(a.StepUUID, a.Token) {
			return a.StepUUID, a.Token
		}
	case kind < 6:
		if r, ok := z.Journal.Taken(z.Rand.IntN); ok {
			return r.Step, r.Token
		}
	case kind < 7 && len(z.hoarded) > 0: // a token out of the future
		a := z.hoarded[z.Rand.IntN(len(z.hoarded))]
		_, rest, _ := strings.Cut(a.Token, ".")
		return a.StepUUID, fmt.Sprintf("%d.%s", crashtest.LeaseNo(a.Token)+1+z.Rand.Int64N(1000), rest)
	case kind < 9: // another worker's lease
		if h, ok := z.Journal.Held(z.me); ok {
			return h.Step, h.Token
		}
	default: // an unknown step
		return uuid.Must(uuid.NewV7()), "1.0." + strings.Repeat("A", 16)
	}
	return uuid.Nil, ""
}

func (z *Zombie) intrude(ctx context.Context, step uuid.UUID, token string) error {
	ref := protocol.LeaseRef{StepUUID: step, Token: token}
	var err error
	switch z.Rand.IntN(6) {
	case 0:
		_, err = z.Backend.Start(ctx, protocol.StartRequest{WorkerID: z.me, Steps: []protocol.LeaseRef{ref}})
	case 1:
		_, err = z.Backend.Progress(ctx, protocol.ProgressReport{WorkerID: z.me, StepUUID: step, Token: token,
			ProgressPercent: 99})
	case 2:
		_, err = z.Backend.Heartbeat(ctx, protocol.Heartbeat{WorkerID: z.me, Steps: []protocol.LeaseRef{ref}})
	default:
		status := []string{protocol.ResultCompleted, protocol.ResultCompleted, protocol.ResultFailed, protocol.ResultReleased,
			protocol.ResultSnoozed}[z.Rand.IntN(5)]
		result := protocol.StepResult{StepUUID: step, Token: token, Status: status}
		switch status {
		case protocol.ResultCompleted:
			result.Result = json.RawMessage(fmt.Sprintf(`{"by":%q,"stale":%d}`, z.Name, z.Rand.Int64()))
		case protocol.ResultFailed:
			result.Error = &tasker.Failure{Message: "the dead do not forget"}
		}
		_, err = z.Backend.Settle(ctx, protocol.SettleRequest{WorkerID: z.me, Results: []protocol.StepResult{result}})
	}
	return err
}

// Last reports every hoarded lease once more, when all is over.
func (z *Zombie) Last(ctx context.Context) error {
	for _, a := range z.hoarded {
		if err := z.intrude(ctx, a.StepUUID, a.Token); err != nil {
			return fmt.Errorf("zombie %s: %w", z.Name, err)
		}
	}
	return nil
}
