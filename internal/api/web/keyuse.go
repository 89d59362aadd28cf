package web

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/access"
)

// KeyUse records the use of API keys.
type KeyUse interface {
	NoteKeyUse(ctx context.Context) error
}

// noteTimeout bounds how long a request waits for the record of its key's use.
const noteTimeout = 5 * time.Second

// keyDays holds the day of each key's last recorded use: one row per key, node and day. It is safe for concurrent use,
// and bounded by the number of keys.
type keyDays struct {
	mu   sync.Mutex
	days map[string]int64 // since 1970, by the name of the key
}

// first returns true to one caller per key and day.
func (u *keyDays) first(key string, day int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, known := u.days[key]; known && last >= day {
		return false
	}
	if u.days == nil {
		u.days = map[string]int64{}
	}
	u.days[key] = day
	return true
}

func (u *keyDays) forget(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.days, key)
}

// noteKeyUse records the first use of a key on a day, in UTC. After a failure the request continues, and the next
// request of the key tries again.
func (f *Front) noteKeyUse(ctx context.Context, p *access.Principal, now time.Time) {
	if f.keyUse == nil || !f.used.first(p.Name, now.Unix()/int64(24*time.Hour/time.Second)) {
		return
	}
	ctx, cancel := context.WithTimeout(access.With(ctx, p), noteTimeout)
	defer cancel()
	if err := f.keyUse.NoteKeyUse(ctx); err != nil {
		f.used.forget(p.Name)
		f.log.WarnContext(ctx, "the use of a key was not stored", slog.String("key", p.Name), slog.Any("error", err))
	}
}
