package bench

import (
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// LedgerReport is the ledger of a run over several nodes. A broken promise ends the run with an error instead.
type LedgerReport struct {
	Submitted int `json:"submitted"` // acknowledged tasks
	Leases    int `json:"leases"`    // each handed out once
	Settled   int `json:"settled"`   // tasks, each once
}

// ledger records leases and results of all nodes on the callers' side, as a user sees them. It costs a lock per
// step, so only runs over several nodes have one. It is safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	tasks  map[uuid.UUID]bool // submitted
	leases map[lease]bool
	owner  map[uuid.UUID]uuid.UUID // tasks of steps
	done   map[uuid.UUID]int       // times a task was settled as complete
	twice  []lease
	orphan int // settled steps without an assignment
}

type lease struct {
	step  uuid.UUID
	token string
}

func newLedger() *ledger {
	return &ledger{tasks: map[uuid.UUID]bool{}, leases: map[lease]bool{}, owner: map[uuid.UUID]uuid.UUID{},
		done: map[uuid.UUID]int{}}
}

func (l *ledger) submitted(task uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks[task] = true
}

// claimed notes steps that a worker was given.
func (l *ledger) claimed(steps []protocol.Assignment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range steps {
		key := lease{s.StepUUID, s.Token}
		if l.leases[key] {
			l.twice = append(l.twice, key)
		}
		l.leases[key] = true
		l.owner[s.StepUUID] = s.TaskUUID
	}
}

// settled notes the results that were acknowledged as final.
func (l *ledger) settled(answers []protocol.SettleAnswer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range answers {
		if a.Error != nil || a.State != tasker.StepComplete {
			continue
		}
		if task, ok := l.owner[a.StepUUID]; ok {
			l.done[task]++
		} else {
			l.orphan++
		}
	}
}

// check verifies that no lease was handed out twice, and that every acknowledged task is settled once. It returns
// the counts also with an error.
func (l *ledger) check() (*LedgerReport, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &LedgerReport{Submitted: len(l.tasks), Leases: len(l.leases), Settled: len(l.done)}
	if len(l.twice) > 0 {
		return r, fmt.Errorf("%d leases were handed out twice, the first is token %s of step %s", len(l.twice),
			l.twice[0].token, l.twice[0].step)
	}
	if l.orphan > 0 {
		return r, fmt.Errorf("%d steps were settled that nobody had been handed", l.orphan)
	}
	lost, often := 0, 0
	for task := range l.tasks {
		switch n := l.done[task]; {
		case n == 0:
			lost++
		case n > 1:
			often++
		}
	}
	if lost > 0 || often > 0 || len(l.done) != len(l.tasks) {
		return r, fmt.Errorf("of %d tasks %d were not settled, %d more than once, and %d were settled in all", len(l.tasks),
			lost, often, len(l.done))
	}
	return r, nil
}
