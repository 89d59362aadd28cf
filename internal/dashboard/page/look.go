package page

import (
	"context"
	"html/template"
	"sync"
	"time"
)

// look is a rendered page for viewers with one key.
type look struct {
	title template.HTML
	main  []byte
	at    time.Time
}

// The time for which viewers share a look, the time limit of one, and the bytes of all.
const (
	lookFor     = time.Second
	lookTimeout = 20 * time.Second
	looksBytes  = 64 << 20
)

// looks are the pages of the last second: 200 viewers of a live page cost one look a second. It is safe for concurrent
// use.
type looks struct {
	now func() time.Time

	mu    sync.Mutex
	all   map[lookKey]*sharedLook
	bytes int
	swept time.Time
}

type sharedLook struct {
	done chan struct{} // closed when look and err are set
	look *look
	err  error
	at   time.Time // when it began
	cost int
}

// get returns a recent look of the same key, zone and address, or a new one. A look continues when its viewer leaves,
// because others may wait for it.
func (l *looks) get(r *Request, load func(context.Context, *Request) (*look, error)) (*look, error) {
	key := keyOf(r)
	l.mu.Lock()
	s := l.all[key]
	// A look that began before an act may not show it.
	if s == nil || l.now().Sub(s.at).Abs() >= lookFor {
		s = &sharedLook{done: make(chan struct{}), at: l.now()}
		l.put(key, s)
		go l.fill(key, s, r, load)
	}
	l.mu.Unlock()
	select {
	case <-s.done:
		return s.look, s.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// lookKey is everything that a look depends on. The principal of a key stays the same as long as the process runs.
type lookKey struct{ viewer, zone, address string }

func keyOf(r *Request) lookKey {
	key := lookKey{zone: r.Zone.String(), address: r.http.URL.RequestURI()}
	if r.Viewer != nil {
		key.viewer = r.Viewer.Name
	}
	return key
}

func (l *looks) fill(key lookKey, s *sharedLook, r *Request, load func(context.Context, *Request) (*look, error)) {
	defer close(s.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), lookTimeout)
	defer cancel()
	shared := *r
	shared.Name = "" // a preference of one viewer
	s.look, s.err = load(ctx, &shared)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[key] != s {
		return // an act has made it old
	}
	if s.err != nil {
		delete(l.all, key) // later viewers do not share an error
		return
	}
	s.cost = len(s.look.main) + len(key.address) + 512
	l.bytes += s.cost
}

// put adds a look, and sometimes removes old ones, or all beyond looksBytes. The caller holds the lock.
func (l *looks) put(key lookKey, s *sharedLook) {
	if l.all == nil || l.bytes > looksBytes {
		l.all, l.bytes = map[lookKey]*sharedLook{}, 0
	}
	if s.at.Sub(l.swept).Abs() >= lookFor {
		l.swept = s.at
		for k, old := range l.all {
			if s.at.Sub(old.at).Abs() >= lookFor {
				l.drop(k, old)
			}
		}
	}
	if old := l.all[key]; old != nil {
		l.drop(key, old)
	}
	l.all[key] = s
}

func (l *looks) drop(key lookKey, s *sharedLook) {
	l.bytes -= s.cost
	delete(l.all, key)
}

// forget makes every look old: an act may have changed any of them.
func (l *looks) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all, l.bytes = nil, 0
}
