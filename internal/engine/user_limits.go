package engine

import (
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// userLimits bounds what each user submits: so many tasks within any minute, so
// many within any hour. The slots of a window are whole ones, so that a limit is
// never exceeded and room may come a sixtieth of the window late.
type userLimits struct {
	burst, sustained int // 0: no bound

	mu    sync.Mutex
	users map[user]*userWindows
	swept task.Instant
}

// user is who submits, in the name of an API key. One key cannot use up what
// another one's users may do.
type user struct{ key, id string }

type userWindows struct{ minute, hour window }

// knownUsers bounds how many users are told apart. Beyond that the others share
// the limits of one.
const knownUsers = 10_000

var otherUsers = user{id: "\x00others"}

func newUserLimits(burst, sustained int) *userLimits {
	return &userLimits{burst: burst, sustained: sustained, users: map[user]*userWindows{}}
}

func (l *userLimits) on() bool { return l.burst > 0 || l.sustained > 0 }

// of returns the windows of a user. The caller holds mu.
func (l *userLimits) of(u user, now task.Instant) *userWindows {
	if w := l.users[u]; w != nil {
		return w
	}
	if len(l.users) >= knownUsers {
		l.sweep(now)
	}
	if len(l.users) >= knownUsers {
		if w := l.users[otherUsers]; w != nil {
			return w
		}
		u = otherUsers
	}
	// one slot more than the window is long: any minute touches 61 seconds
	w := &userWindows{newWindow(time.Second, 61), newWindow(time.Minute, 61)}
	l.users[u] = w
	return w
}

// sweep forgets users who did nothing for an hour, once a minute at the most.
func (l *userLimits) sweep(now task.Instant) {
	if now.Sub(l.swept) < time.Minute {
		return
	}
	l.swept = now
	for u, w := range l.users {
		if w.hour.sum(int64(now)) == 0 {
			delete(l.users, u)
		}
	}
}

// limitHit is why a user may not submit now.
type limitHit struct {
	reason Refusal
	limit  int
	never  bool // so many at once are over the limit by themselves
	room   time.Duration
}

// take counts n tasks of each user, or of none when one of them is over a limit.
func (l *userLimits) take(counts map[user]int, now task.Instant) *limitHit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var worst *limitHit
	for u, n := range counts {
		if hit := l.hit(l.of(u, now), n, int64(now)); hit != nil && (worst == nil || hit.never || hit.room > worst.room) {
			worst = hit
		}
	}
	if worst != nil {
		return worst
	}
	for u, n := range counts {
		w := l.of(u, now)
		w.minute.add(int64(now), n)
		w.hour.add(int64(now), n)
	}
	return nil
}

// giveBack takes back one task of a user that was counted at a time.
func (l *userLimits) giveBack(u user, at task.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.users[u]
	if w == nil {
		w = l.users[otherUsers]
	}
	if w != nil {
		w.minute.remove(int64(at), 1)
		w.hour.remove(int64(at), 1)
	}
}

func (l *userLimits) hit(w *userWindows, n int, now int64) *limitHit {
	var worst *limitHit
	for _, c := range []struct {
		window *window
		limit  int
		reason Refusal
	}{{&w.minute, l.burst, OverBurst}, {&w.hour, l.sustained, OverSustained}} {
		if c.limit <= 0 {
			continue
		}
		if n > c.limit {
			return &limitHit{reason: c.reason, limit: c.limit, never: true}
		}
		if room := c.window.roomIn(now, n, c.limit); room > 0 && (worst == nil || room > worst.room) {
			worst = &limitHit{reason: c.reason, limit: c.limit, room: room}
		}
	}
	return worst
}
