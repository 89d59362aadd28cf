package task

// Counts says how many steps of a task are in which class of state. It is kept
// with the task and moved with every step, so that the task's state follows
// without looking at its other steps.
type Counts struct {
	Pending   int // waits for parents, or for run_at
	Active    int // enqueued, assigned, in progress
	Waiting   int // waits for a time: a retry, a snooze
	Done      int // complete or resolved manually
	Failed    int // error
	Cancelled int
	// ManualEnds counts the steps without dependants that an operator resolved:
	// then the task's own outcome is the operator's.
	ManualEnds int
}

// Total is the number of steps.
func (c Counts) Total() int {
	return c.Pending + c.Active + c.Waiting + c.Done + c.Failed + c.Cancelled
}

// slot returns the counter of a step state.
func (c *Counts) slot(s StepState) *int {
	switch s {
	case StepPending:
		return &c.Pending
	case StepWaitingForRetry:
		return &c.Waiting
	case StepComplete, StepResolvedManually:
		return &c.Done
	case StepErrored:
		return &c.Failed
	case StepCancelled:
		return &c.Cancelled
	default:
		return &c.Active
	}
}

// Add counts a new step.
func (c *Counts) Add(s StepState) { *c.slot(s)++ }

// Move counts a step that changed its state.
func (c *Counts) Move(from, to StepState) {
	*c.slot(from)--
	*c.slot(to)++
}

// Undecided reports whether the state of a task depends on something that is not
// counted: whether one of its pending steps is due; see Evaluate.
func (c Counts) Undecided() bool {
	return c.Active+c.Waiting == 0 && c.Failed > 0 && c.Pending > 0
}

// Evaluate returns the state that a task in state now has to be in, given the
// counts of its steps. Terminal states stay. Where the counts leave it Undecided,
// due says whether a pending step is due, which means that nothing but the timers
// is between it and its route; else it has no effect.
//
//   - something runs or may run: steps_in_process, also beside a failed branch,
//     which is drained before the task gives up;
//   - nothing has begun yet, because run_at has not come: pending;
//   - nothing runs but something waits for a time: waiting_for_retry;
//   - an operator has just made a step pending again, and it is about to be
//     enqueued: enqueuing_steps, also beside a failed branch;
//   - a step failed for good and nothing else can move: error;
//   - every step satisfied: complete, or resolved_manually when an operator
//     supplied the outcome;
//   - what is left waits for parents that never finish: waiting_for_dependencies.
func (c Counts) Evaluate(now State, due bool) State {
	switch {
	case now.Terminal():
		return now
	case c.Active > 0:
		return StepsInProcess
	case now == Pending && c.Pending == c.Total():
		return Pending
	case c.Waiting > 0:
		return WaitingForRetry
	case c.Undecided() && due:
		return EnqueuingSteps
	case c.Failed > 0:
		return Errored
	case c.Pending > 0 && (now == Errored || now == WaitingForRetry || now == EnqueuingSteps):
		return EnqueuingSteps
	case c.Pending > 0:
		return WaitingForDependencies
	case c.Cancelled > 0:
		return Cancelled
	case c.ManualEnds > 0:
		return ResolvedManually
	default:
		return Complete
	}
}
