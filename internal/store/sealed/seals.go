package sealed

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Seals is an engine.Seals with a ring of keys. It is safe for concurrent use.
type Seals struct {
	ring atomic.Pointer[vault.Ring]
	sets sync.Map // int64 to *sensitive.Set: sensitive parts by key of a template

	// reload reads the keys again; nil: they do not change.
	reload func() (*vault.Ring, error)
	now    func() time.Time
	turn   sync.Mutex
	read   time.Time
}

// Options configures Seals.
type Options struct {
	// Reload reads the keys again for an unknown key. Defaults to never.
	Reload func() (*vault.Ring, error)
	// Now is the clock for Reload, and required with it.
	Now func() time.Time
}

const reloadEvery = 5 * time.Second

var _ engine.Seals = (*Seals)(nil)

// New returns Seals with a ring of keys.
func New(ring *vault.Ring, opts Options) *Seals {
	s := &Seals{reload: opts.Reload, now: opts.Now}
	s.ring.Store(ring)
	return s
}

// Forget implements engine.Seals.
func (s *Seals) Forget() { s.sets.Clear() }

type find func(ctx context.Context, def int64) (*task.Template, error)

// set returns the sensitive parts of a template's tasks; everything for a missing or unreadable one.
func (s *Seals) set(ctx context.Context, def int64, of find) (*sensitive.Set, error) {
	if known, ok := s.sets.Load(def); ok {
		return known.(*sensitive.Set), nil
	}
	t, err := of(ctx, def)
	if err != nil {
		return nil, err
	}
	if t == nil || t.Unread != "" {
		return sensitive.All(), nil
	}
	set := sensitive.Lenient(t.Sensitive)
	s.sets.Store(def, set)
	return set, nil
}

func place(kind vault.Kind, id task.ID) vault.Place { return vault.Place{Kind: kind, ID: id.String()} }

// sealed encrypts a document. Pointers count from the root of a context, and from every value of any other document.
// Clear text that looks encrypted is always encrypted whole, to remain distinguishable.
func (s *Seals) sealed(set *sensitive.Set, doc []byte, at vault.Place) ([]byte, error) {
	if _, stored, is := task.WhyUnopened(doc); is {
		return stored, nil // as it was
	}
	if set.Empty() && !vault.Sealed(doc) {
		return doc, nil
	}
	return s.ring.Load().Seal(set, doc, at.Kind != vault.Context && at.Kind != vault.Schedule, at)
}

// opened decrypts a stored document, or returns one of task.Unopened.
func (s *Seals) opened(doc []byte, at vault.Place) []byte {
	if !vault.Sealed(doc) {
		return doc
	}
	out, err := s.ring.Load().Open(doc, at)
	if s.reread(err) {
		out, err = s.ring.Load().Open(doc, at)
	}
	if err != nil {
		return task.Unopened(err.Error(), doc)
	}
	return out
}

// must is opened for a document that becomes a part of others: an undecryptable one is an error for now.
func (s *Seals) must(doc []byte, at vault.Place) ([]byte, error) {
	out := s.opened(doc, at)
	if reason, _, is := task.WhyUnopened(out); is {
		return nil, task.Errorf(task.Unavailable, "the %s of %q cannot be decrypted here: %s", at.Kind, at.ID, reason)
	}
	return out, nil
}

func (s *Seals) shown(doc []byte, at vault.Place) []byte {
	if !vault.Sealed(doc) {
		return doc
	}
	return s.ring.Load().OpenLenient(doc, at)
}

func (s *Seals) reread(err error) bool {
	var missing *vault.MissingKeyError
	if s.reload == nil || !errors.As(err, &missing) {
		return false
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if now := s.now(); now.Sub(s.read) >= reloadEvery {
		s.read = now
		if ring, err := s.reload(); err == nil { // else it stays: the value shows which key is missing
			s.ring.Store(ring)
		}
	}
	return true
}
