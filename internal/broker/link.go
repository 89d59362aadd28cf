package broker

import (
	"context"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// link shares one connection between callers: the first opens it, and one that finds it lost drops it.
type link struct {
	dial Dial
	// lock holds one token; unlike for a mutex, a context can end the wait.
	lock   chan struct{}
	driver driver.Driver // nil: none
	closed bool
}

func newLink(dial Dial) *link { return &link{dial: dial, lock: make(chan struct{}, 1)} }

func (l *link) get(ctx context.Context) (driver.Driver, error) {
	select {
	case l.lock <- struct{}{}:
		defer func() { <-l.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.closed {
		return nil, driver.ErrClosed
	}
	if l.driver == nil {
		d, err := l.dial(ctx)
		if err != nil {
			return nil, err
		}
		l.driver = d
	}
	return l.driver, nil
}

// drop closes a lost connection. Another caller may have done so, and opened a new one.
func (l *link) drop(d driver.Driver) {
	l.lock <- struct{}{}
	if l.driver == d {
		l.driver = nil
	}
	<-l.lock
	_ = d.Close()
}

func (l *link) close() error {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	d := l.driver
	l.driver, l.closed = nil, true
	if d == nil {
		return nil
	}
	return d.Close()
}
