package engine

import (
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
)

// limits is what this process knows of gates and of the limits of operators, apart from their rows. mu orders reads, so
// that an older one never replaces a newer one.
type limits struct {
	paced atomic.Bool // steps wait, or have waited, for the next moment of a rate
	asked atomic.Bool // the store was asked whether some do since before this process began
	check gateCheck

	mu      sync.Mutex
	rows    []task.OperatorLimit
	version string
	read    bool // rows are those of version
}

// forget makes the next refresh read the limits. Until then those known stay in force.
func (l *limits) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = false
}
