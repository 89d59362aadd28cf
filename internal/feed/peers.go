package feed

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// Listeners to all that happens hear of other processes, which publish only while one of them listens. A process
// with a listener says so in a row of the database, for a while at a time, and all processes read these rows in an
// interval. Batches are numbered; where one may be missing, the listener's process puts a gap.

// peerSilence is how long it takes until silence of another process is a gap.
const peerSilence = 4 * Heartbeat

// Batch is what one process tells the others of what was committed there.
type Batch struct {
	From    string // the process; set by the store
	Number  uint64 // one more than that of those before; 0: they go on with those
	Lost    bool   // there were changes before these that are not told
	Changes []Change
}

// peerFeeds is what a process knows of the telling of others. It is guarded by the feed's mutex.
type peerFeeds struct {
	until     task.Instant // this process listens until then, though nobody does here
	connected bool         // news come in
	of        map[string]peerFeed
	missing   string // why there has to be a gap; "": there has not
	deafSince task.Instant
}

type peerFeed struct {
	number uint64
	at     task.Instant
}

// Interests returns the tasks that listeners here are about, and whether others listen to
// all that happens, or did a moment ago.
func (f *Feed) Interests() (ids []task.ID, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.about {
		ids = append(ids, id)
	}
	return ids, f.hasSubscribers()
}

// hasSubscribers reports whether somebody listens here to all that happens, or did a moment
// ago. The caller holds mu.
func (f *Feed) hasSubscribers() bool {
	return f.recording && (len(f.listeners) > 0 || f.now() <= f.peers.until)
}

// Receive takes what another process told.
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
		f.peers.missing = "another node has begun to tell, or could not tell all"
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

// SetConnected notes whether news come in from now on.
func (f *Feed) SetConnected(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.peers.connected != on && f.hasSubscribers() {
		f.peers.missing = "the connection to other nodes was interrupted"
	}
	f.peers.connected = on
}

// PublishGaps puts a gap where something of others is missing.
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
			f.peers.missing = "another node has fallen silent"
		}
	}
	if !f.peers.connected && now.Sub(f.peers.deafSince) > listenHeartbeat {
		f.peers.missing = "this node hears nothing of the others"
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

// ReadStates reads the states of tasks and hands those that are news to the listeners about them.
func (f *Feed) ReadStates(ctx context.Context, src Source, ids []task.ID) error {
	return f.readStates(ctx, src, ids, nil)
}

// Record records for a while though nobody listens here, and returns a channel that is closed when all transactions are
// recorded that are not over yet; nil when they are.
func (f *Feed) Record(d time.Duration) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	drained := f.startRecording()
	f.keepRecording(d)
	return drained
}
