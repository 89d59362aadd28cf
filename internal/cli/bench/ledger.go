package bench

import (
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// LedgerReport is the result of the ledger of a run over several nodes. A run that breaks a promise ends with
// an error instead.
type LedgerReport struct {
	Submitted int `json:"submitted"` // tasks, acknowledged
	Leases    int `json:"leases"`    // handed out, each of them once
	Settled   int `json:"settled"`   // tasks, each of them once
}

// ledger holds what was handed out and taken back, whichever the node. It is kept by the callers' side, which is what a
// user would see. It is only kept for several nodes, since it costs a lock for every step. Safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	tasks  map[uuid.UUID]bool // submitted
	leases map[lease]bool
	owner  map[uuid.UUID]uuid.UUID // task of a step
	done   map[uuid.UUID]int       // how often a task was settled as complete
	twice  []lease
	orphan int // settled steps that no worker was assigned
}

// lease identifies a lease: a step and a token.
type lease struct {
	step  uuid.UUID
	token string
}

// newLedger returns an empty ledger.
func newLedger() *ledger {
	return &ledger{tasks: map[uuid.UUID]bool{}, leases: map[lease]bool{}, owner: map[uuid.UUID]uuid.UUID{},
		done: map[uuid.UUID]int{}}
}

// submitted notes a task whose submission was acknowledged.
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

// check compares the ledger with the guarantees: no lease is handed out twice, and every task that was acknowledged is
// settled once. It returns the counts also with an error.
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
