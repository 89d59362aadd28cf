package feed

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Listeners to all changes also receive those of other processes, which publish only while one of them listens. A
// process with a listener announces it in a row of the database, for a while at a time, and all processes read these
// rows at an interval. Batches are numbered; where one may be missing, the listener's process puts a gap.

// peerSilence is how long another process may be silent before that counts as a gap.
const peerSilence = 4 * Heartbeat

// Batch carries changes that were committed in one process to the others.
type Batch struct {
	From    string // the process; set by the store
	Number  uint64 // one more than the batch before; 0: it continues the batch before
	Lost    bool   // changes before these are missing
	Changes []Change
}

// peerFeeds is the state of the feeds of other processes. It is guarded by the feed's mutex.
type peerFeeds struct {
	until     task.Instant // this process subscribes until then, even without listeners here
	connected bool         // batches arrive
	of        map[string]peerFeed
	missing   string // reason for a gap that is due; "": none is due
	deafSince task.Instant
}

// peerFeed is the last batch of one process: its number and its arrival.
type peerFeed struct {
	number uint64
	at     task.Instant
}

// Interests returns the tasks that listeners here name, and whether there are listeners to all changes, or were a
// moment ago.
func (f *Feed) Interests() (ids []task.ID, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.about {
		ids = append(ids, id)
	}
	return ids, f.hasSubscribers()
}

// hasSubscribers reports whether there are listeners to all changes here, or were a moment ago. The caller holds mu.
func (f *Feed) hasSubscribers() bool {
	return f.recording && (len(f.listeners) > 0 || f.now() <= f.peers.until)
}

// Receive publishes a batch of another process to the listeners here. A batch out of sequence
// causes a gap.
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

// SetConnected records whether batches arrive from now on. Any change of it causes a gap.
func (f *Feed) SetConnected(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.peers.connected != on && f.hasSubscribers() {
		f.peers.missing = "the connection to other nodes was interrupted"
	}
	f.peers.connected = on
}

// PublishGaps publishes a gap if changes of other processes may be missing. It must be called
// periodically.
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

// ReadStates reads the states of tasks and passes new ones to the listeners on them.
func (f *Feed) ReadStates(ctx context.Context, src Source, ids []task.ID) error {
	return f.readStates(ctx, src, ids, nil)
}

// Record records for a while even without listeners here, and returns a channel that is closed when all running
// transactions are recorded; nil when they already are.
func (f *Feed) Record(d time.Duration) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	drained := f.startRecording()
	f.keepRecording(d)
	return drained
}
