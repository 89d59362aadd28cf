package memstore

import (
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// state is everything stored. Values are immutable: a change puts a new row into the table, and both states may share
// it.
type state struct {
	tasks        map[task.ID]*task.Task
	steps        map[task.ID]*task.Step
	attempts     map[task.ID][]task.Attempt // by task, oldest first
	events       map[task.ID][]task.Event
	acts         map[task.ID][]task.Act
	keys         map[engine.KeyName]binding
	templates    map[int64]*task.Template
	routes       map[int64]*task.Route
	workers      map[int64]*task.Worker
	cases        map[task.ID]*task.Case
	watches      map[task.ID]task.Instant
	notes        map[string]string
	heads        map[engine.OrderingKey]task.ID
	waits        map[task.ID]waiting
	gates        map[int64]engine.Gate
	permits      map[engine.Permit]struct{}
	signals      map[int64]engine.Gate // in the order in which they were made
	unique       map[engine.KeyName]engine.Holder
	sessions     map[string]engine.Session // by hash
	pauses       map[task.PauseTarget]task.Pause
	bursts       map[burstName]task.Burst
	outages      map[task.ID]task.Outage
	checkpoints  map[task.ID]task.Checkpoint
	largeResults map[string]task.LargeResult
	logs         map[task.ID][]task.AttemptLog // by step, the last lease first
	fanOuts      map[task.ID]task.FanOut       // by step
	items        map[childKey][]byte
	children     map[childKey]engine.Child
	stepWaits    map[task.ID]task.StepWait
	// outsideSignals are those of task.Signal; signals are between the gates of limits.
	outsideSignals map[task.SignalName]task.Signal
	operatorLimits map[int64]task.OperatorLimit
	// lastWorker, lastAct and lastSignal hold one number each, as tables for the rollback.
	lastWorker, lastAct, lastSignal map[string]int64

	// Derived from the rows by setTask and setStep.
	taskOrder []task.ID
	stepsOf   map[task.ID][]task.ID // by ordinal
	queues    map[int64]*queue
}

// binding is the target of an idempotency key, and its expiry. An expired binding stays until DropKeys; every reader
// compares the time.
type binding struct {
	engine.Binding
	expires task.Instant
}

func newState() *state {
	return &state{
		tasks:          map[task.ID]*task.Task{},
		steps:          map[task.ID]*task.Step{},
		attempts:       map[task.ID][]task.Attempt{},
		events:         map[task.ID][]task.Event{},
		acts:           map[task.ID][]task.Act{},
		keys:           map[engine.KeyName]binding{},
		templates:      map[int64]*task.Template{},
		routes:         map[int64]*task.Route{},
		workers:        map[int64]*task.Worker{},
		cases:          map[task.ID]*task.Case{},
		watches:        map[task.ID]task.Instant{},
		notes:          map[string]string{},
		heads:          map[engine.OrderingKey]task.ID{},
		waits:          map[task.ID]waiting{},
		gates:          map[int64]engine.Gate{},
		permits:        map[engine.Permit]struct{}{},
		signals:        map[int64]engine.Gate{},
		lastSignal:     map[string]int64{},
		unique:         map[engine.KeyName]engine.Holder{},
		sessions:       map[string]engine.Session{},
		pauses:         map[task.PauseTarget]task.Pause{},
		bursts:         map[burstName]task.Burst{},
		outages:        map[task.ID]task.Outage{},
		checkpoints:    map[task.ID]task.Checkpoint{},
		largeResults:   map[string]task.LargeResult{},
		logs:           map[task.ID][]task.AttemptLog{},
		fanOuts:        map[task.ID]task.FanOut{},
		items:          map[childKey][]byte{},
		children:       map[childKey]engine.Child{},
		stepWaits:      map[task.ID]task.StepWait{},
		outsideSignals: map[task.SignalName]task.Signal{},
		operatorLimits: map[int64]task.OperatorLimit{},
		lastWorker:     map[string]int64{},
		lastAct:        map[string]int64{},
		stepsOf:        map[task.ID][]task.ID{},
		queues:         map[int64]*queue{},
	}
}

// setTask stores a row, or deletes it if t is nil. Deleting an unknown task does nothing: an undo may do so.
func (s *state) setTask(id task.ID, t *task.Task) {
	at, found := slices.BinarySearchFunc(s.taskOrder, id, compareIDs)
	switch {
	case t == nil && found:
		s.taskOrder = slices.Delete(s.taskOrder, at, at+1)
		delete(s.tasks, id)
		return
	case t == nil:
		return
	case !found:
		s.taskOrder = slices.Insert(s.taskOrder, at, id)
	}
	s.tasks[id] = t
}

// setStep stores a row, or deletes it if st is nil, and updates its queue and its place in the task.
func (s *state) setStep(id task.ID, st *task.Step) {
	if old := s.steps[id]; old != nil {
		// The old row has the place of its entry; the new one may be in another queue.
		s.queue(old.Queue).remove(entry{old.Key, id})
		if st == nil {
			s.stepsOf[old.TaskID] = without(s.stepsOf[old.TaskID], id)
			delete(s.steps, id)
		}
	}
	if st == nil {
		return
	}
	if s.steps[id] == nil {
		s.stepsOf[st.TaskID] = s.insertOrdinal(s.stepsOf[st.TaskID], id, st.Ordinal)
	}
	s.steps[id] = st
	s.queue(st.Queue).add(entry{st.Key, id})
}

func (s *state) insertOrdinal(ids []task.ID, id task.ID, ordinal int) []task.ID {
	at, _ := slices.BinarySearchFunc(ids, ordinal, func(id task.ID, n int) int { return s.steps[id].Ordinal - n })
	return slices.Insert(ids, at, id)
}

func without(ids []task.ID, id task.ID) []task.ID {
	return slices.DeleteFunc(ids, func(x task.ID) bool { return x == id })
}

// queue creates a queue at first use; NoQueue returns one that stores nothing. Empty queues stay: there is one per
// route.
func (s *state) queue(n int64) *queue {
	if n == task.NoQueue {
		return &queue{}
	}
	q := s.queues[n]
	if q == nil {
		q = &queue{}
		s.queues[n] = q
	}
	return q
}

// template returns an empty template for a missing one, which spares callers a check.
func (s *state) template(def int64) *task.Template {
	if t := s.templates[def]; t != nil {
		return t
	}
	return &task.Template{}
}
