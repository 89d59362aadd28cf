package rate

import (
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Limits bound the tasks that each user submits within any minute and any hour. A window counts whole slots, so a
// limit is never exceeded, and room may appear up to a sixtieth of the window late. Counts are of this process only
// and are lost with it. It is safe for concurrent use.
type Limits struct {
	burst, sustained int // 0: no bound

	mu    sync.Mutex
	users map[User]*userWindows
	swept task.Instant
}

// User is a submitter under an API key. Users of different keys never share limits.
type User struct{ Key, ID string }

type userWindows struct{ minute, hour Window }

// knownUsers bounds the users counted separately. Users beyond it share one set of limits.
const knownUsers = 10_000

// otherUsers collects all users beyond knownUsers. No submitter can have this ID, because IDs have no control
// characters.
var otherUsers = User{ID: "\x00others"}

// NewLimits takes tasks per minute and per hour; 0 means no limit.
func NewLimits(burst, sustained int) *Limits {
	return &Limits{burst: burst, sustained: sustained, users: map[User]*userWindows{}}
}

// On reports whether there is any limit.
func (l *Limits) On() bool { return l.burst > 0 || l.sustained > 0 }

// The caller holds mu.
func (l *Limits) of(u User, now task.Instant) *userWindows {
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
	// one slot more than the window: any minute touches 61 seconds
	w := &userWindows{NewWindow(time.Second, 61), NewWindow(time.Minute, 61)}
	l.users[u] = w
	return w
}

// sweep forgets users without submissions in the last hour, at most once a minute.
func (l *Limits) sweep(now task.Instant) {
	if now.Sub(l.swept) < time.Minute {
		return
	}
	l.swept = now
	for u, w := range l.users {
		if w.hour.Sum(int64(now)) == 0 {
			delete(l.users, u)
		}
	}
}

// Hit explains why a user may not submit now. Room is the time until the submission fits.
type Hit struct {
	Sustained bool // the limit of an hour, not of a minute
	Limit     int
	Never     bool // the tasks of this call alone exceed the limit
	Room      time.Duration
}

// Take counts tasks of each user, or none if one user is over a limit: a batch is accepted whole. It returns nil,
// or the limit that lasts longest.
func (l *Limits) Take(counts map[User]int, now task.Instant) *Hit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var worst *Hit
	for u, n := range counts {
		if hit := l.hit(l.of(u, now), n, int64(now)); hit != nil && (worst == nil || hit.Never || hit.Room > worst.Room) {
			worst = hit
		}
	}
	if worst != nil {
		return worst
	}
	for u, n := range counts {
		w := l.of(u, now)
		w.minute.Add(int64(now), n)
		w.hour.Add(int64(now), n)
	}
	return nil
}

// GiveBack takes back one task counted at a time, after a failed or repeated submission.
func (l *Limits) GiveBack(u User, at task.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.users[u]
	if w == nil {
		w = l.users[otherUsers]
	}
	if w != nil {
		w.minute.Remove(int64(at), 1)
		w.hour.Remove(int64(at), 1)
	}
}

func (l *Limits) hit(w *userWindows, n int, now int64) *Hit {
	var worst *Hit
	for _, c := range []struct {
		window    *Window
		limit     int
		sustained bool
	}{{&w.minute, l.burst, false}, {&w.hour, l.sustained, true}} {
		if c.limit <= 0 {
			continue
		}
		if n > c.limit {
			return &Hit{Sustained: c.sustained, Limit: c.limit, Never: true}
		}
		if room := c.window.RoomIn(now, n, c.limit); room > 0 && (worst == nil || room > worst.Room) {
			worst = &Hit{Sustained: c.sustained, Limit: c.limit, Room: room}
		}
	}
	return worst
}
