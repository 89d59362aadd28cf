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
	// attendance is how long a process that listens says so for.
	attendance = 15 * time.Second
	// tellAlive is how often a process that has nothing to tell says that.
	tellAlive = 5 * time.Second
	// tellSilence is how long it takes until silence is a gap.
	tellSilence = 4 * tellAlive
	// tellPatience is how long following others waits for transactions that have to be
	// over before this process can tell what it does.
	tellPatience = 50 * time.Millisecond
	// maxTold bounds the changes told at once.
	maxTold = 2000
)

// Tidings is what one process tells the others of what was committed there.
type Tidings struct {
	From    string // the process; set by the store
	Number  uint64 // one more than that of those before; 0: they go on with those
	Lost    bool   // there were changes before these that are not told
	Changes []Change
}

// told is what a process knows of the telling of others. It is guarded by the feed's mutex.
type told struct {
	until   task.Instant // this process listens until then, though nobody does here
	hearing bool         // news come in
	from    map[string]teller
	missing string // why there has to be a gap; "": there has not
	deaf    task.Instant
}

type teller struct {
	number uint64
	at     task.Instant
}

// telling is what this process tells the others. It is used by one goroutine at a time.
type telling struct {
	until atomic.Int64 // another process listens until then

	on     bool
	pos    uint64
	number uint64
	lost   bool
	at     task.Instant
}

// attend lets the other processes know that somebody listens here.
func (e *Engine) attend(ctx context.Context) error {
	if e.cluster == nil {
		return nil
	}
	if err := e.cluster.Attend(ctx, attendance); err != nil {
		return fmt.Errorf("say that somebody listens: %w", err)
	}
	return nil
}

// followFeed keeps what listeners hear of other processes complete, or says where it is not.
func (e *Engine) followFeed(ctx context.Context) error {
	ids, listening := e.feed.awaited()
	if listening {
		if err := e.attend(ctx); err != nil {
			return err
		}
	}
	if err := e.readStates(ctx, ids, nil); err != nil {
		return err
	}
	e.feed.gaps()
	wanted, err := e.cluster.Attended(ctx)
	if err != nil {
		return fmt.Errorf("look whether somebody listens: %w", err)
	}
	if !wanted {
		return nil
	}
	e.feed.mu.Lock()
	sighted := e.feed.record()
	e.feed.stay(attendance)
	e.feed.mu.Unlock()
	if sighted != nil { // else the first that is told would hide what is under way
		patience := time.NewTimer(tellPatience)
		defer patience.Stop()
		select {
		case <-sighted:
		case <-patience.C:
			return nil // the next look may find it over; until then others wait for this one
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.tell.until.Store(int64(e.instant().Add(attendance)))
	return nil
}

// awaited returns the tasks that listeners here are about, and whether others listen to
// all that happens, or did a moment ago.
func (f *feed) awaited() (ids []task.ID, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.about {
		ids = append(ids, id)
	}
	return ids, f.listened()
}

// listened reports whether somebody listens here to all that happens, or did a moment
// ago. The caller holds mu.
func (f *feed) listened() bool { return f.on && (len(f.wide) > 0 || f.now() <= f.told.until) }

// hear takes what another process told.
func (f *feed) hear(t *Tidings) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.listened() {
		return // for others
	}
	if f.told.from == nil {
		f.told.from = map[string]teller{}
	}
	before, known := f.told.from[t.From]
	if t.Lost || t.Number != 0 && (!known || t.Number != before.number+1) {
		f.told.missing = "another node has begun to tell, or could not tell all"
	}
	if t.Number == 0 {
		t.Number = before.number
	}
	f.told.from[t.From] = teller{t.Number, f.now()}
	for i := range t.Changes {
		t.Changes[i].Foreign = true
	}
	f.publish(t.Changes)
}

// listens notes whether news come in from now on.
func (f *feed) listens(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told.hearing != on && f.listened() {
		f.told.missing = "the connection to other nodes was interrupted"
	}
	f.told.hearing = on
}

// gaps puts a gap where something of others is missing.
func (f *feed) gaps() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if !f.listened() {
		f.told.from, f.told.missing = nil, ""
		return
	}
	for node, t := range f.told.from {
		if now.Sub(t.at) > tellSilence {
			delete(f.told.from, node)
			f.told.missing = "another node has fallen silent"
		}
	}
	if !f.told.hearing && now.Sub(f.told.deaf) > listenBeat {
		f.told.missing = "this node hears nothing of the others"
	}
	if f.told.missing == "" {
		return
	}
	if !f.told.hearing {
		f.told.deaf = now
	}
	f.publish([]Change{{Kind: StreamGap, At: now, Cause: f.told.missing, Foreign: true}})
	f.told.missing = ""
}

// Tell tells other processes what was committed here since the last call, if one
// of them listens. What an error keeps it from telling, they hear is missing.
func (e *Engine) Tell(ctx context.Context) error {
	if e.cluster == nil {
		return nil
	}
	now := e.instant()
	if now > task.Instant(e.tell.until.Load()) {
		e.tell.on = false
		return nil
	}
	t := e.tell.next(e.feed)
	if len(t.Changes) == 0 && !t.Lost && now.Sub(e.tell.at) < tellAlive {
		e.tell.number--
		return nil
	}
	if err := e.cluster.Tell(ctx, t); err != nil {
		e.tell.lost = true
		return fmt.Errorf("tell other nodes: %w", err)
	}
	e.tell.at = now
	return nil
}

// next takes what is to be told next.
func (t *telling) next(f *feed) Tidings {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !t.on {
		t.on, t.lost, t.pos = true, true, f.next
	}
	if t.pos < f.first {
		t.lost, t.pos = true, f.next
	}
	if f.next-t.pos > maxTold {
		t.lost, t.pos = true, f.next-maxTold
	}
	t.number++
	out := Tidings{Number: t.number, Lost: t.lost}
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
