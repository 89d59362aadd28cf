package kernel

import (
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
)

// limits is the state of this process about gates and operators' limits. mu orders reads, so that an older one never
// replaces a newer one.
type limits struct {
	paced atomic.Bool // steps wait, or waited, for the next time of a rate
	asked atomic.Bool // the store was asked whether steps have waited since before this process began
	check gateCheck

	mu      sync.Mutex
	rows    []task.OperatorLimit
	version string
	read    bool // rows are those of version
}

// The known limits stay in force until the next refresh.
func (l *limits) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = false
}
