package task

// Counts are the steps of a task by class of state. Every change of a step updates them in the task's row, so the
// task's state needs no other rows.
type Counts struct {
	Pending   int // waits for parents, or for run_at
	Active    int // enqueued, assigned, in progress, waiting for an outside event
	Waiting   int // waits for a time: a retry, a snooze
	Done      int // complete, skipped or resolved manually
	Failed    int
	Cancelled int
	// ManualEnds counts the steps without dependants that an operator resolved: the outcome is then the operator's.
	ManualEnds int
}

// Total is the number of steps.
func (c Counts) Total() int {
	return c.Pending + c.Active + c.Waiting + c.Done + c.Failed + c.Cancelled
}

func (c *Counts) slot(s StepState) *int {
	switch s {
	case StepPending:
		return &c.Pending
	case StepWaitingForRetry:
		return &c.Waiting
	case StepComplete, StepSkipped, StepResolvedManually:
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

// Plus returns the sum of two counts.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Pending + o.Pending, c.Active + o.Active, c.Waiting + o.Waiting, c.Done + o.Done, c.Failed + o.Failed,
		c.Cancelled + o.Cancelled, c.ManualEnds + o.ManualEnds}
}

// Move counts a step's change of state.
func (c *Counts) Move(from, to StepState) {
	*c.slot(from)--
	*c.slot(to)++
}

// Undecided reports whether the task's state also depends on due; see Evaluate.
func (c Counts) Undecided() bool {
	return c.Active+c.Waiting == 0 && c.Failed > 0 && c.Pending > 0
}

// Evaluate returns the state of a task in state now. Terminal states stay. For Undecided counts, due says whether
// only timers separate a pending step from its route.
//
//   - a step runs or may run: steps_in_process, even beside a failed branch;
//   - nothing has begun before run_at: pending;
//   - nothing runs, but a step waits for a time: waiting_for_retry;
//   - an operator made a step pending that is about to be enqueued: enqueuing_steps, even beside a failed branch;
//   - a step failed permanently and no other can move: error;
//   - every step is satisfied: complete, or resolved_manually if an operator supplied the outcome;
//   - the rest waits for parents that never finish: waiting_for_dependencies.
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
