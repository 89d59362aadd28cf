package rate

import (
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Outcomes counts good and bad outcomes by a key, such as a worker: in a row, and over the last minutes. It drops a
// key after that time without events. The zero value is ready. It is safe for concurrent use.
type Outcomes struct {
	mu   sync.Mutex
	keys map[int64]*outcomes
}

type outcomes struct {
	row        int // bad ones since the last good one
	all, bad   Window
	lastChange task.Instant
	lostAt     task.Instant // see Lost
}

const (
	outcomeSlot, outcomeSlots = 30 * time.Second, 10
	maxOutcomes               = 50_000
)

// Add counts an outcome, which may be neither good nor bad.
func (o *Outcomes) Add(key int64, good, bad bool, now task.Instant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at(key, now).add(good, bad, now)
}

// Lost counts a bad outcome of what began at since. What was under way together has one cause, such as a broker that
// was down, and counts as one.
func (o *Outcomes) Lost(key int64, since, now task.Instant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if of := o.at(key, now); since > of.lostAt {
		of.lostAt = now
		of.add(false, true, now)
	}
}

// The caller holds mu.
func (o *Outcomes) at(key int64, now task.Instant) *outcomes {
	of := o.current(key, now)
	if of == nil {
		if o.keys == nil || len(o.keys) >= maxOutcomes {
			o.keys = map[int64]*outcomes{}
		}
		of = &outcomes{all: NewWindow(outcomeSlot, outcomeSlots), bad: NewWindow(outcomeSlot, outcomeSlots)}
		o.keys[key] = of
	}
	of.lastChange = max(of.lastChange, now)
	return of
}

func (of *outcomes) add(good, bad bool, now task.Instant) {
	of.all.Add(int64(now), 1)
	switch {
	case good:
		of.row = 0
	case bad:
		of.row++
		of.bad.Add(int64(now), 1)
	}
}

// Of returns the bad outcomes in a row, and all and the bad ones of the last five minutes.
func (o *Outcomes) Of(key int64, now task.Instant) (row, all, bad int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.current(key, now)
	if of == nil {
		return 0, 0, 0
	}
	return of.row, of.all.Sum(int64(now)), of.bad.Sum(int64(now))
}

// The caller holds mu.
func (o *Outcomes) current(key int64, now task.Instant) *outcomes {
	of := o.keys[key]
	if of != nil && now.Sub(of.lastChange) >= outcomeSlot*outcomeSlots {
		delete(o.keys, key)
		return nil
	}
	return of
}
