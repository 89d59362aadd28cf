package task_test

import (
	"slices"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Complete tables of transitions, compared pair by pair with the production tables to expose changes.

var taskMoves = map[task.State][]task.State{
	task.Pending: {task.Initializing, task.Cancelled, task.ResolvedManually, task.Errored},
	task.Initializing: {task.EnqueuingSteps, task.Complete, task.WaitingForDependencies, task.Cancelled,
		task.ResolvedManually},
	task.EnqueuingSteps: {
		task.StepsInProcess, task.Errored, task.Cancelled, task.ResolvedManually,
	},
	task.StepsInProcess: {
		task.EvaluatingResults, task.WaitingForRetry, task.Errored, task.Cancelled, task.ResolvedManually,
	},
	task.EvaluatingResults: {
		task.Complete, task.EnqueuingSteps, task.WaitingForDependencies, task.WaitingForRetry, task.BlockedByFailures,
		task.Errored, task.Cancelled, task.ResolvedManually,
	},
	task.WaitingForDependencies: {
		task.EvaluatingResults, task.EnqueuingSteps, task.Errored, task.Cancelled, task.ResolvedManually,
	},
	task.WaitingForRetry: {
		task.EnqueuingSteps, task.EvaluatingResults, task.Errored, task.Cancelled, task.ResolvedManually,
	},
	task.BlockedByFailures: {
		task.Errored, task.EnqueuingSteps, task.EvaluatingResults, task.Cancelled, task.ResolvedManually,
	},
	task.Errored: {
		task.EnqueuingSteps, task.EvaluatingResults, task.WaitingForRetry, task.Cancelled, task.ResolvedManually,
	},
}

var stepMoves = map[task.StepState][]task.StepState{
	task.StepPending: {
		task.StepEnqueued, task.StepWaiting, task.StepWaitingForRetry, task.StepComplete, task.StepSkipped, task.StepErrored,
		task.StepCancelled, task.StepResolvedManually,
	},
	task.StepWaiting: {
		task.StepWaitingForRetry, task.StepComplete, task.StepErrored, task.StepCancelled, task.StepResolvedManually,
	},
	task.StepEnqueued: {
		task.StepAssigned, task.StepInProgress, task.StepErrored, task.StepComplete, task.StepCancelled,
		task.StepResolvedManually,
	},
	task.StepAssigned: {
		task.StepInProgress, task.StepEnqueued, task.StepWaitingForRetry, task.StepErrored, task.StepComplete,
		task.StepCancelled, task.StepResolvedManually,
	},
	task.StepInProgress: {
		task.StepEnqueuedForOrchestration, task.StepEnqueued, task.StepWaitingForRetry, task.StepComplete, task.StepErrored,
		task.StepCancelled, task.StepResolvedManually,
	},
	task.StepEnqueuedForOrchestration: {
		task.StepComplete, task.StepWaitingForRetry, task.StepErrored, task.StepCancelled, task.StepResolvedManually,
	},
	task.StepWaitingForRetry: {
		task.StepPending, task.StepEnqueued, task.StepErrored, task.StepComplete, task.StepCancelled,
		task.StepResolvedManually,
	},
	task.StepErrored: {
		task.StepPending, task.StepEnqueued, task.StepComplete, task.StepCancelled, task.StepResolvedManually,
	},
}

func TestTaskTransitions(t *testing.T) {
	t.Parallel()
	for _, from := range task.States {
		for _, to := range task.States {
			if got, want := slices.Contains(from.Next(), to), slices.Contains(taskMoves[from], to); got != want {
				t.Errorf("%s -> %s: allowed is %v, want %v", from, to, got, want)
			}
		}
	}
}

func TestStepTransitions(t *testing.T) {
	t.Parallel()
	for _, from := range task.StepStates {
		for _, to := range task.StepStates {
			want := slices.Contains(stepMoves[from], to)
			if got := from.Can(to); got != want {
				t.Errorf("%s -> %s: Can is %v, want %v", from, to, got, want)
			}
			if got := slices.Contains(from.Next(), to); got != want {
				t.Errorf("%s -> %s: Next has it: %v, want %v", from, to, got, want)
			}
		}
	}
}

func TestTerminalStates(t *testing.T) {
	t.Parallel()
	terminal := []task.State{task.Complete, task.Cancelled, task.ResolvedManually}
	for _, s := range task.States {
		if got, want := s.Terminal(), slices.Contains(terminal, s); got != want {
			t.Errorf("%s: Terminal is %v, want %v", s, got, want)
		}
		if got, want := len(s.Next()) == 0, s.Terminal(); got != want {
			t.Errorf("%s: it has no exit: %v, but Terminal is %v", s, got, want)
		}
		if got, want := s.Settled(), s.Terminal() || s == task.Errored; got != want {
			t.Errorf("%s: Settled is %v, want %v", s, got, want)
		}
	}
	terminalSteps := []task.StepState{task.StepComplete, task.StepSkipped, task.StepCancelled, task.StepResolvedManually}
	satisfying := []task.StepState{task.StepComplete, task.StepSkipped, task.StepResolvedManually}
	for _, s := range task.StepStates {
		if got, want := s.Terminal(), slices.Contains(terminalSteps, s); got != want {
			t.Errorf("step %s: Terminal is %v, want %v", s, got, want)
		}
		if got, want := len(s.Next()) == 0, s.Terminal(); got != want {
			t.Errorf("step %s: it has no exit: %v, but Terminal is %v", s, got, want)
		}
		if got, want := s.Satisfies(), slices.Contains(satisfying, s); got != want {
			t.Errorf("step %s: Satisfies is %v, want %v", s, got, want)
		}
		if got, want := s.Leased(), s == task.StepAssigned || s == task.StepInProgress; got != want {
			t.Errorf("step %s: Leased is %v, want %v", s, got, want)
		}
	}
}

// Every state is reachable and leads to a terminal one.
func TestEveryStateIsReachable(t *testing.T) {
	t.Parallel()
	t.Run("Task", func(t *testing.T) {
		t.Parallel()
		checkReachable(t, task.States, task.Pending, task.State.Next, task.State.Terminal)
	})
	t.Run("Step", func(t *testing.T) {
		t.Parallel()
		checkReachable(t, task.StepStates, task.StepPending, task.StepState.Next, task.StepState.Terminal)
	})
}

func checkReachable[S comparable](t *testing.T, all []S, first S, next func(S) []S, terminal func(S) bool) {
	t.Helper()
	from := func(s S) map[S]bool {
		seen, todo := map[S]bool{s: true}, []S{s}
		for len(todo) > 0 {
			at := todo[0]
			todo = todo[1:]
			for _, n := range next(at) {
				if !seen[n] {
					seen[n] = true
					todo = append(todo, n)
				}
			}
		}
		return seen
	}
	reached := from(first)
	for _, s := range all {
		if !reached[s] {
			t.Errorf("%v cannot be reached from %v", s, first)
		}
		end := false
		for r := range from(s) {
			end = end || terminal(r)
		}
		if !end {
			t.Errorf("from %v no terminal state can be reached", s)
		}
	}
	for s := range reached {
		if !slices.Contains(all, s) {
			t.Errorf("%v is in the table, but not in the list of states", s)
		}
	}
}

func TestReaches(t *testing.T) {
	t.Parallel()
	passed := []task.State{task.Initializing, task.EnqueuingSteps, task.EvaluatingResults, task.BlockedByFailures,
		task.StepsInProcess}
	var walk func(at, to task.State, been map[task.State]bool) bool
	walk = func(at, to task.State, been map[task.State]bool) bool {
		for _, n := range taskMoves[at] {
			if n == to {
				return true
			}
			if slices.Contains(passed, n) && !been[n] {
				been[n] = true
				if walk(n, to, been) {
					return true
				}
			}
		}
		return false
	}
	for _, from := range task.States {
		for _, to := range task.States {
			if got, want := from.Reaches(to), walk(from, to, map[task.State]bool{}); got != want {
				t.Errorf("%s reaches %s: %v, want %v", from, to, got, want)
			}
			if from.Terminal() && from.Reaches(to) {
				t.Errorf("%s is terminal, but reaches %s", from, to)
			}
		}
	}
	for _, want := range []struct {
		from, to task.State
		reaches  bool
	}{
		{task.Pending, task.StepsInProcess, true},
		{task.Pending, task.Complete, true},
		{task.StepsInProcess, task.Complete, true},
		{task.Errored, task.StepsInProcess, true},
		{task.Errored, task.ResolvedManually, true},
		{task.WaitingForRetry, task.Errored, true},
		{task.StepsInProcess, task.Pending, false},
		{task.Errored, task.Pending, false},
		{task.Complete, task.Errored, false},
		{task.Cancelled, task.StepsInProcess, false},
	} {
		if got := want.from.Reaches(want.to); got != want.reaches {
			t.Errorf("%s reaches %s: %v, want %v", want.from, want.to, got, want.reaches)
		}
	}
}
