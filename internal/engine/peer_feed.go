package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// What listeners to all that happens hear of other processes, which tell it only
// while one of them listens. Whoever listens says so in a row of the database, for a
// while at a time, and every process looks there in a rhythm. What it then tells is
// numbered; where something may be missing, the listener's process puts a gap.

const (
	// subscriptionTime is how long a process that listens says so for.
	subscriptionTime = 15 * time.Second
	// feedHeartbeat is how often a process that has nothing to tell says that.
	feedHeartbeat = 5 * time.Second
	// feedSilence is how long it takes until silence is a gap.
	feedSilence = 4 * feedHeartbeat
	// drainPatience is how long following others waits for transactions that have to be
	// over before this process can tell what it does.
	drainPatience = 50 * time.Millisecond
	// maxPublished bounds the changes told at once.
	maxPublished = 2000
)

// FeedBatch is what one process tells the others of what was committed there.
type FeedBatch struct {
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

// feedPublisher is what this process tells the others. It is used by one goroutine at a time.
type feedPublisher struct {
	until atomic.Int64 // another process listens until then

	on     bool
	pos    uint64
	number uint64
	lost   bool
	at     task.Instant
}

// subscribeFeed lets the other processes know that somebody listens here.
func (e *Engine) subscribeFeed(ctx context.Context) error {
	if e.cluster == nil {
		return nil
	}
	if err := e.cluster.SubscribeFeed(ctx, subscriptionTime); err != nil {
		return fmt.Errorf("say that somebody listens: %w", err)
	}
	return nil
}

// followPeerFeeds keeps what listeners hear of other processes complete, or says where it is not.
func (e *Engine) followPeerFeeds(ctx context.Context) error {
	ids, listening := e.feed.interests()
	if listening {
		if err := e.subscribeFeed(ctx); err != nil {
			return err
		}
	}
	if err := e.readStates(ctx, ids, nil); err != nil {
		return err
	}
	e.feed.publishGaps()
	wanted, err := e.cluster.FeedSubscribed(ctx)
	if err != nil {
		return fmt.Errorf("look whether somebody listens: %w", err)
	}
	if !wanted {
		return nil
	}
	e.feed.mu.Lock()
	sighted := e.feed.startRecording()
	e.feed.keepRecording(subscriptionTime)
	e.feed.mu.Unlock()
	if sighted != nil { // else the first that is told would hide what is under way
		patience := time.NewTimer(drainPatience)
		defer patience.Stop()
		select {
		case <-sighted:
		case <-patience.C:
			return nil // the next look may find it over; until then others wait for this one
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.peerFeed.until.Store(int64(e.instant().Add(subscriptionTime)))
	return nil
}

// interests returns the tasks that listeners here are about, and whether others listen to
// all that happens, or did a moment ago.
func (f *feed) interests() (ids []task.ID, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.about {
		ids = append(ids, id)
	}
	return ids, f.hasSubscribers()
}

// hasSubscribers reports whether somebody listens here to all that happens, or did a moment
// ago. The caller holds mu.
func (f *feed) hasSubscribers() bool {
	return f.recording && (len(f.listeners) > 0 || f.now() <= f.peers.until)
}

// receive takes what another process told.
func (f *feed) receive(t *FeedBatch) {
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

// setConnected notes whether news come in from now on.
func (f *feed) setConnected(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.peers.connected != on && f.hasSubscribers() {
		f.peers.missing = "the connection to other nodes was interrupted"
	}
	f.peers.connected = on
}

// publishGaps puts a gap where something of others is missing.
func (f *feed) publishGaps() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if !f.hasSubscribers() {
		f.peers.of, f.peers.missing = nil, ""
		return
	}
	for node, t := range f.peers.of {
		if now.Sub(t.at) > feedSilence {
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

// PublishFeed tells other processes what was committed here since the last call, if one
// of them listens. What an error keeps it from telling, they hear is missing.
func (e *Engine) PublishFeed(ctx context.Context) error {
	if e.cluster == nil {
		return nil
	}
	now := e.instant()
	if now > task.Instant(e.peerFeed.until.Load()) {
		e.peerFeed.on = false
		return nil
	}
	t := e.peerFeed.next(e.feed)
	if len(t.Changes) == 0 && !t.Lost && now.Sub(e.peerFeed.at) < feedHeartbeat {
		e.peerFeed.number--
		return nil
	}
	if err := e.cluster.PublishFeed(ctx, t); err != nil {
		e.peerFeed.lost = true
		return fmt.Errorf("tell other nodes: %w", err)
	}
	e.peerFeed.at = now
	return nil
}

// next takes what is to be told next.
func (t *feedPublisher) next(f *feed) FeedBatch {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !t.on {
		t.on, t.lost, t.pos = true, true, f.next
	}
	if t.pos < f.first {
		t.lost, t.pos = true, f.next
	}
	if f.next-t.pos > maxPublished {
		t.lost, t.pos = true, f.next-maxPublished
	}
	t.number++
	out := FeedBatch{Number: t.number, Lost: t.lost}
	t.lost = false
	for ; t.pos < f.next; t.pos++ {
		c := f.ring[t.pos%feedSize]
		switch {
		case c.Foreign:
		case c.Kind == StreamGap:
			out.Lost = true
		default:
			out.Changes = append(out.Changes, c)
		}
	}
	return out
}
