package carrier

import (
	"errors"
	"net/url"
	"sync"

	"github.com/taskerhq/tasker/internal/broker"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// kept bounds the idle targets: destinations of sources without a URL may be on any number of hosts.
const kept = 1024

// place has one connection and one circuit breaker: namespaces, brokers and hosts never share one.
type place struct {
	namespace string
	url       string // of the broker, if any
	host      string // scheme and host of the destination, without a broker
}

func placeOf(source *deadletter.Source, destination string) place {
	of := place{namespace: source.Namespace, url: source.URL}
	if u, err := url.Parse(destination); of.url == "" && err == nil {
		of.host = u.Scheme + "://" + u.Host
	}
	return of
}

type entry struct {
	*broker.Target

	users int
	last  uint64 // last use, counted in uses of all
}

type targets struct {
	mu      sync.Mutex
	uses    uint64
	byPlace map[place]*entry
}

// take returns the target of a place, and opens a missing one. It stays open until the caller calls done.
func (t *targets) take(of place, open func() *broker.Target) (target *broker.Target, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byPlace[of]
	if e == nil {
		t.shrink()
		e = &entry{Target: open()}
		t.byPlace[of] = e
	}
	t.uses++
	e.users++
	e.last = t.uses
	return e.Target, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		e.users--
	}
}

// shrink closes the least recently used target if there are too many. The caller holds mu.
func (t *targets) shrink() {
	if len(t.byPlace) < kept {
		return
	}
	var idle *entry
	var at place
	for of, e := range t.byPlace {
		if e.users == 0 && (idle == nil || e.last < idle.last) {
			idle, at = e, of
		}
	}
	if idle != nil {
		delete(t.byPlace, at)
		go func() { _ = idle.Close() }()
	}
}

func (t *targets) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, e := range t.byPlace {
		errs = append(errs, e.Close())
	}
	clear(t.byPlace)
	return errors.Join(errs...)
}
