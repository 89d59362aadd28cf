package task

import "slices"

// State is the state of a task.
type State string

// The states of a task. Only the last one in a transaction is observable.
const (
	Pending                State = "pending"
	Initializing           State = "initializing"
	EnqueuingSteps         State = "enqueuing_steps"
	StepsInProcess         State = "steps_in_process"
	EvaluatingResults      State = "evaluating_results"
	WaitingForDependencies State = "waiting_for_dependencies"
	WaitingForRetry        State = "waiting_for_retry"
	BlockedByFailures      State = "blocked_by_failures"
	Complete               State = "complete"
	Errored                State = "error"
	Cancelled              State = "cancelled"
	ResolvedManually       State = "resolved_manually"
)

// States lists the task states in the order of a task's life.
var States = []State{Pending, Initializing, EnqueuingSteps, StepsInProcess, EvaluatingResults,
	WaitingForDependencies, WaitingForRetry, BlockedByFailures, Complete, Errored, Cancelled, ResolvedManually}

// transitions are a task's transitions. A repair re-opens error.
var transitions = map[State][]State{
	Pending:        {Initializing, Cancelled, ResolvedManually, Errored},
	Initializing:   {EnqueuingSteps, Complete, WaitingForDependencies, Cancelled, ResolvedManually},
	EnqueuingSteps: {StepsInProcess, Errored, Cancelled, ResolvedManually},
	StepsInProcess: {EvaluatingResults, WaitingForRetry, Errored, Cancelled, ResolvedManually},
	EvaluatingResults: {Complete, EnqueuingSteps, WaitingForDependencies, WaitingForRetry, BlockedByFailures, Errored,
		Cancelled, ResolvedManually},
	WaitingForDependencies: {EvaluatingResults, EnqueuingSteps, Errored, Cancelled, ResolvedManually},
	WaitingForRetry:        {EnqueuingSteps, EvaluatingResults, Errored, Cancelled, ResolvedManually},
	BlockedByFailures:      {Errored, EnqueuingSteps, EvaluatingResults, Cancelled, ResolvedManually},
	Errored:                {EnqueuingSteps, EvaluatingResults, WaitingForRetry, Cancelled, ResolvedManually},
	Complete:               {},
	Cancelled:              {},
	ResolvedManually:       {},
}

// Next lists the possible next states.
func (s State) Next() []State { return transitions[s] }

// Terminal reports whether the state is final.
func (s State) Terminal() bool { return s == Complete || s == Cancelled || s == ResolvedManually }

// Settled reports whether the state changes only on request: terminal, or error.
func (s State) Settled() bool { return s.Terminal() || s == Errored }

// Reaches reports whether a transaction can lead from s to t, perhaps through unobserved states.
func (s State) Reaches(t State) bool {
	seen := map[State]bool{s: true}
	todo := []State{s}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, n := range transitions[at] {
			if n == t {
				return true
			}
			// only transient states stay unobserved
			if !seen[n] && n.transient() {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	return false
}

// transient states exist only inside a transaction.
func (s State) transient() bool {
	return slices.Contains([]State{Initializing, EnqueuingSteps, EvaluatingResults, BlockedByFailures, StepsInProcess}, s)
}

// StepState is the state of a step.
type StepState string

// Step states.
const (
	StepPending                  StepState = "pending"
	StepWaiting                  StepState = "waiting"
	StepEnqueued                 StepState = "enqueued"
	StepAssigned                 StepState = "assigned"
	StepInProgress               StepState = "in_progress"
	StepEnqueuedForOrchestration StepState = "enqueued_for_orchestration"
	StepWaitingForRetry          StepState = "waiting_for_retry"
	StepComplete                 StepState = "complete"
	StepSkipped                  StepState = "skipped"
	StepErrored                  StepState = "error"
	StepCancelled                StepState = "cancelled"
	StepResolvedManually         StepState = "resolved_manually"
)

// StepStates lists the step states in the order of a step's life.
var StepStates = []StepState{StepPending, StepWaiting, StepEnqueued, StepAssigned, StepInProgress,
	StepEnqueuedForOrchestration, StepWaitingForRetry, StepComplete, StepSkipped, StepErrored, StepCancelled,
	StepResolvedManually}

// stepTransitions are a step's transitions.
//
//   - A snoozed or released step returns without a failure.
//   - A step without a worker waits, and fails, completes or is skipped from there.
//   - An operator can resolve or complete a step in any state that is not terminal, and reset it where a retry
//     makes sense.
var stepTransitions = map[StepState][]StepState{
	StepPending: {StepEnqueued, StepWaiting, StepWaitingForRetry, StepComplete, StepSkipped, StepErrored, StepCancelled,
		StepResolvedManually},
	StepWaiting: {StepWaitingForRetry, StepComplete, StepErrored, StepCancelled, StepResolvedManually},
	StepEnqueued: {StepAssigned, StepInProgress, StepErrored, StepComplete, StepCancelled,
		StepResolvedManually},
	StepAssigned: {StepInProgress, StepEnqueued, StepWaitingForRetry, StepErrored, StepComplete,
		StepCancelled, StepResolvedManually},
	StepInProgress: {StepEnqueuedForOrchestration, StepEnqueued, StepWaitingForRetry, StepComplete,
		StepErrored, StepCancelled, StepResolvedManually},
	StepEnqueuedForOrchestration: {StepComplete, StepWaitingForRetry, StepErrored, StepCancelled, StepResolvedManually},
	StepWaitingForRetry: {StepPending, StepEnqueued, StepErrored, StepComplete, StepCancelled,
		StepResolvedManually},
	StepErrored:          {StepPending, StepEnqueued, StepComplete, StepCancelled, StepResolvedManually},
	StepComplete:         {},
	StepSkipped:          {},
	StepCancelled:        {},
	StepResolvedManually: {},
}

// Next lists the possible next states.
func (s StepState) Next() []StepState { return stepTransitions[s] }

// Can reports whether a step may move from s to t.
func (s StepState) Can(t StepState) bool { return slices.Contains(stepTransitions[s], t) }

// "Is it over?" has one meaning for each question. Of a task:
//
//	Terminal                 nothing changes it: it keeps no turn, may be deleted
//	Settled                  only a request changes it: terminal, or in error
//	Compensation.Due, Begun  it has failed, and its steps stay as they are
//	ChildStateOf             its state in its parent's counts
//	FanOut.AtRest            nothing below one of its steps runs or will run
//
// Of a step (see TestMeanings):
//
//	Terminal   nothing changes it
//	Satisfies  dependants may run
//	Done       it was carried out: there is something to undo
//	Leased     a worker holds it
//
// A step in no queue (NoQueue) does not move by itself; see Compensation.Moving.

// Terminal reports whether the state is final.
func (s StepState) Terminal() bool {
	return s == StepComplete || s == StepSkipped || s == StepCancelled || s == StepResolvedManually
}

// Satisfies reports whether dependants may run.
func (s StepState) Satisfies() bool {
	return s == StepComplete || s == StepSkipped || s == StepResolvedManually
}

// Done reports whether anyone carried out the step.
func (s StepState) Done() bool { return s == StepComplete || s == StepResolvedManually }

// Leased reports whether a worker holds the step.
func (s StepState) Leased() bool { return s == StepAssigned || s == StepInProgress }
