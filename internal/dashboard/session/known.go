package session

import (
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/access"
)

// How long a node remembers a session, and how many.
const (
	knownFor = 10 * time.Second
	maxKnown = 10_000
)

// known are the sessions that were looked up lately, also those that do not exist. It is safe for concurrent use.
type known struct {
	mu  sync.Mutex
	all map[[32]byte]lookedUp
}

type lookedUp struct {
	session *access.Session
	at      time.Time
}

// get returns a session that was looked up within the last ten seconds.
func (k *known) get(hash [32]byte, now time.Time) (s *access.Session, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.all[hash]
	if !ok || now.Sub(found.at).Abs() >= knownFor {
		return nil, false
	}
	return found.session, true
}

// put remembers a session. When there are too many, all are forgotten.
func (k *known) put(hash [32]byte, s *access.Session, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) >= maxKnown {
		k.all = map[[32]byte]lookedUp{}
	}
	k.all[hash] = lookedUp{s, now}
}

// forget forgets all: somebody has signed out.
func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = nil
}
