package feed

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Listeners to all changes also receive those of other processes. Their process announces them in a row of the
// database for a limited time; the others read these rows and publish only then. Batches are numbered, so that a
// missing one becomes a gap.

// peerSilence is the silence of another process that counts as a gap.
const peerSilence = 4 * Heartbeat

// Batch carries changes committed in one process to the others.
type Batch struct {
	From    string // the process; set by the store
	Number  uint64 // one more than the batch before; 0: it continues that batch
	Lost    bool   // earlier changes are missing
	Changes []Change
}

// The feed's mutex guards peerFeeds.
type peerFeeds struct {
	until     task.Instant // this process subscribes until then without listeners
	connected bool         // batches arrive
	of        map[string]peerFeed
	missing   string // reason for a gap that is due, or ""
	deafSince task.Instant
}

type peerFeed struct {
	number uint64
	at     task.Instant
}

// Interests returns the tasks named by listeners here, and whether there are, or recently were, listeners to all
// changes.
func (f *Feed) Interests() (ids []task.ID, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.about {
		ids = append(ids, id)
	}
	return ids, f.hasSubscribers()
}

// hasSubscribers includes recent listeners. The caller holds mu.
func (f *Feed) hasSubscribers() bool {
	return f.recording && (len(f.listeners) > 0 || f.now() <= f.peers.until)
}

// Receive publishes a batch of another process to the listeners here. A batch out of sequence causes a gap.
func (f *Feed) Receive(t *Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.hasSubscribers() {
		return // for others
	}
	if f.peers.of == nil {
		f.peers.of = map[string]peerFeed{}
	}
	before, known := f.peers.of[t.From]
	if t.Lost || t.Number != 0 && (!known || t.Number != before.number+1) {
		f.peers.missing = "another node has begun to publish, or could not publish all its events"
	}
	if t.Number == 0 {
		t.Number = before.number
	}
	f.peers.of[t.From] = peerFeed{t.Number, f.now()}
	for i := range t.Changes {
		t.Changes[i].Foreign = true
	}
	f.publish(t.Changes)
}

// SetConnected records whether batches arrive. Any change causes a gap.
func (f *Feed) SetConnected(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.peers.connected != on && f.hasSubscribers() {
		f.peers.missing = "the connection to other nodes was interrupted"
	}
	f.peers.connected = on
}

// PublishGaps publishes a gap if changes of other processes may be missing. It must be called periodically.
func (f *Feed) PublishGaps() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if !f.hasSubscribers() {
		f.peers.of, f.peers.missing = nil, ""
		return
	}
	for node, t := range f.peers.of {
		if now.Sub(t.at) > peerSilence {
			delete(f.peers.of, node)
			f.peers.missing = "another node no longer publishes"
		}
	}
	if !f.peers.connected && now.Sub(f.peers.deafSince) > listenHeartbeat {
		f.peers.missing = "this node receives no events of the others"
	}
	if f.peers.missing == "" {
		return
	}
	if !f.peers.connected {
		f.peers.deafSince = now
	}
	f.publish([]Change{{Kind: StreamGap, At: now, Cause: f.peers.missing, Foreign: true}})
	f.peers.missing = ""
}

// ReadStates reads states of tasks and passes new ones to the listeners on them.
func (f *Feed) ReadStates(ctx context.Context, src Source, ids []task.ID) error {
	return f.readStates(ctx, src, ids, nil)
}

// Record records for a while without listeners, and returns a channel that is closed when all running transactions
// are recorded, or nil.
func (f *Feed) Record(d time.Duration) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	drained := f.startRecording()
	f.keepRecording(d)
	return drained
}
