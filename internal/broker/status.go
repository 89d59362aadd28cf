package broker

import (
	"sync"
	"time"
)

// State is the state of a source.
type State string

// The states of sources.
const (
	Connecting State = "connecting" // not yet connected
	Connected  State = "connected"
	Lost       State = "lost"    // reconnecting
	Blocked    State = "blocked" // received messages cannot be stored; it holds them and receives no more
	Stopped    State = "stopped" // its Run is not running
)

// Status is the state of a source or a target.
type Status struct {
	State State
	Since time.Time
	// LastError is without secrets of a URL; "" for none. It stays after a recovery.
	LastError   string
	LastErrorAt time.Time
	// Messages counts acknowledged or sent messages; LastAt is the time of the latest.
	Messages int64
	LastAt   time.Time
	// Gone counts messages that the broker had deleted before they were received; GoneWhy describes the last ones.
	Gone    int64
	GoneWhy string
}

type monitor struct {
	now func() time.Time

	mu     sync.Mutex
	status Status
}

func newMonitor(now func() time.Time, s State) *monitor {
	return &monitor{now: now, status: Status{State: s, Since: now()}}
}

func (m *monitor) get() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status
}

func (m *monitor) enter(s State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.change(s)
}

func (m *monitor) fail(s State, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.change(s)
	m.status.LastError, m.status.LastErrorAt = err.Error(), m.now()
}

func (m *monitor) gone(n int64, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Gone += n
	m.status.GoneWhy = why.Error()
}

func (m *monitor) done(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.change(Connected)
	if n > 0 {
		m.status.Messages += int64(n)
		m.status.LastAt = m.now()
	}
}

// change keeps Since for the same state. The caller holds mu.
func (m *monitor) change(s State) {
	if m.status.State != s {
		m.status.State, m.status.Since = s, m.now()
	}
}
