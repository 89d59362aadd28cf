package deadletter

import (
	"fmt"
	"math"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Act is a runner's next act for a redrive.
type Act string

// The acts.
const (
	ActSend Act = "send" // up to N more items of this wave
	ActWave Act = "wave" // begin the next wave, of N items; see Apply
	ActWait Act = "wait"
	ActHalt Act = "halt"
	ActDone Act = "done"
	ActRest Act = "rest"
)

// Step is a decision about a redrive. Fields of other acts are zero.
type Step struct {
	Act    Act
	N      int
	Until  task.Instant
	Reason string
}

const (
	// leastObserved items must be sent before the share of returns counts during the wave: 1 of 1 says little when
	// 999 follow. The end of its observation judges a wave of any size.
	leastObserved = 5
	tick          = 100 * time.Millisecond
	burst         = time.Second
)

// Next decides the next act. o counts the items of the current wave; it is zero before the first. Next changes only
// WaveBegan: it moves forward when the runner is behind the rate by more than a second, which limits catching up.
//
// Each wave is sent, then observed for the time of the plan. The observation ends early when no item is left that
// could return. Operations that send nothing are not observed.
//
// A wave waits for items of unknown outcome: they are sent again under their number, and count as failed in the stop
// rule until the outcome is known.
func (r *Redrive) Next(now task.Instant, o Outcome) Step {
	switch {
	case !r.State.Active():
		return Step{Act: ActRest}
	case r.WaveSize > 0:
		if reason := r.Stop.violated(o, r.State == model.RedriveObserving && r.observed(now, o)); reason != "" {
			return Step{Act: ActHalt, Reason: reason}
		}
	}
	switch {
	case r.WaveSent+o.Sending+o.Unknown < r.WaveSize:
		return r.send(now, o.Sending+o.Unknown)
	case r.WaveSent < r.WaveSize, r.WaveSize == 0 && o.Sending+o.Unknown > 0: // awaiting outcomes
		return Step{Act: ActWait, Until: now + 1}
	case r.State == model.RedriveObserving && !r.observed(now, o):
		return Step{Act: ActWait, Until: r.StateAt.Add(r.Plan.Observe)}
	case r.left() == 0:
		return Step{Act: ActDone}
	}
	return Step{Act: ActWave, N: r.nextSize()}
}

func (r *Redrive) left() int { return max(r.Total-r.Behind, 0) }

func (r *Redrive) observed(now task.Instant, o Outcome) bool {
	return o.Sent+o.Sending == 0 || now >= r.StateAt.Add(max(r.Plan.Observe, 0))
}

// nextSize is the canary at first and after a halt, when WaveSize is 0; then it grows by the factor within the
// bounds.
func (r *Redrive) nextSize() int {
	size := r.Plan.Canary
	if r.WaveSize > 0 {
		size = int(math.Ceil(math.Min(float64(r.WaveSize)*r.Plan.Factor, float64(r.Plan.Largest))))
	}
	if r.Operation != model.OpRedrive {
		size = r.Plan.Largest // a canary teaches nothing
	}
	return max(min(size, r.Plan.Largest, r.left()), 1)
}

// send decides how many items of the wave may be sent now, besides those of unknown outcome. The tokens of a rate are
// those of the time since the wave began, plus one, less the sent items.
func (r *Redrive) send(now task.Instant, undecided int) Step {
	left := r.WaveSize - r.WaveSent - undecided
	if r.Plan.Rate <= 0 {
		return Step{Act: ActSend, N: left}
	}
	if due := r.WaveBegan.Add(r.span(r.WaveSent + undecided)); now.Sub(due) > burst {
		r.WaveBegan += now - due - task.Instant(burst.Microseconds())
	}
	earned := math.Floor(float64(now-r.WaveBegan)*r.Plan.Rate/1e6+1e-6) + 1
	if tokens := int(math.Min(earned, math.MaxInt32)) - r.WaveSent - undecided; tokens > 0 {
		return Step{Act: ActSend, N: min(tokens, left)}
	}
	next := min(left, max(int(r.Plan.Rate*tick.Seconds()), 1))
	until := r.WaveBegan.Add(r.span(r.WaveSent + undecided + next - 1))
	return Step{Act: ActWait, Until: max(until, now+1)}
}

// Apply executes ActWave, ActHalt and ActDone. The other acts are the runner's.
func (r *Redrive) Apply(s Step, now task.Instant) error {
	switch s.Act {
	case ActWave:
		return r.begin(s.N, now)
	case ActHalt:
		return r.HaltFor(s.Reason, now)
	case ActDone:
		return r.move(model.RedriveDone, now, "ended")
	}
	return nil
}

// begin begins a wave of n items. Under a rate it begins where the previous wave would have ended.
func (r *Redrive) begin(n int, now task.Instant) error {
	if r.State == model.RedriveObserving {
		if err := r.move(model.RedriveRunning, now, "continued"); err != nil {
			return err
		}
	} else if r.State != model.RedriveRunning {
		return r.refuse("continued")
	} else {
		r.Version++
	}
	if r.WaveSent > 0 {
		now = max(now, r.WaveBegan.Add(r.span(r.WaveSent)))
	}
	r.Wave++
	r.WaveSize, r.WaveSent, r.WaveBegan = n, 0, now
	return nil
}

// Decided records decided items of the wave, up to the number last, in every state: a runner finishes its sends after
// a pause or a cancellation. The end of the wave begins its observation.
func (r *Redrive) Decided(items, last int, now task.Instant) error {
	if items <= 0 && last <= r.Behind {
		return nil
	}
	r.Version++
	if r.Behind = max(r.Behind, last); items <= 0 {
		return nil
	}
	r.WaveSent += items
	if r.WaveSent < r.WaveSize || r.Operation != model.OpRedrive {
		return nil
	}
	switch {
	case r.State == model.RedriveRunning:
		return r.move(model.RedriveObserving, now, "observed")
	case r.State == model.RedrivePaused && r.Resume == model.RedriveRunning:
		r.Resume = model.RedriveObserving
	}
	return nil
}

func (s StopRule) violated(o Outcome, ended bool) string {
	sent := o.Sent + o.Returned + o.Completed
	share := float64(o.Returned) / float64(max(sent, 1))
	switch {
	case s.Failed > 0 && o.Failed+o.Unknown >= s.Failed && o.Unknown > 0:
		return fmt.Sprintf("%d items of the wave could not be sent, or their outcome is not known; the stop rule allows %d",
			o.Failed+o.Unknown, s.Failed-1)
	case s.Failed > 0 && o.Failed >= s.Failed:
		return fmt.Sprintf("%d items of the wave could not be sent; the stop rule allows %d", o.Failed, s.Failed-1)
	case s.ReturnedShare > 0 && share > s.ReturnedShare && (ended || sent >= leastObserved):
		return fmt.Sprintf("%d of %d items of the wave came back; the stop rule allows %s %%", o.Returned, sent,
			percent(s.ReturnedShare))
	}
	if s.SamePrint > 0 {
		if group, n := o.most(); n >= s.SamePrint {
			return fmt.Sprintf("%d items of the wave came back in group %s; the stop rule allows %d", n, group,
				s.SamePrint-1)
		}
	}
	return ""
}

func (o Outcome) most() (GroupID, int) {
	var group GroupID
	most := 0
	for g, n := range o.ByGroup {
		if n > most || n == most && g < group {
			group, most = g, n
		}
	}
	return group, most
}

func percent(share float64) string { return fmt.Sprintf("%.4g", share*100) }
