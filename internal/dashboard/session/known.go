package session

import (
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/access"
)

// How long a node remembers a session, and how many.
const (
	knownFor = 10 * time.Second
	maxKnown = 10_000
)

// known are recently looked up sessions, including missing ones. It is safe for concurrent use.
type known struct {
	mu  sync.Mutex
	all map[[32]byte]lookedUp
	// ends counts calls of forget. A session that was read before one of them may have ended.
	ends int
}

type lookedUp struct {
	session *access.Session
	at      time.Time
}

// get returns a session that was looked up within the last ten seconds. Otherwise the caller reads it from the store
// and passes it to put, with ends.
func (k *known) get(hash [32]byte, now time.Time) (s *access.Session, fresh bool, ends int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.all[hash]
	if !ok || now.Sub(found.at).Abs() >= knownFor {
		return nil, false, k.ends
	}
	return found.session, true, k.ends
}

// put remembers a session, unless a sign-out happened since get. When there are too many, it forgets all.
func (k *known) put(hash [32]byte, s *access.Session, now time.Time, ends int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ends != ends {
		return
	}
	if k.all == nil || len(k.all) >= maxKnown {
		k.all = map[[32]byte]lookedUp{}
	}
	k.all[hash] = lookedUp{s, now}
}

// forget follows a sign-out.
func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = nil
	k.ends++
}
