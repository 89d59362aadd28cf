package app

import (
	"context"
	"sync"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/system"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/doctor"
)

// examination examines the database for a page. One runs at a time, and viewers within half a minute share a
// report, because the checks are expensive.
type examination struct {
	dsn  config.DSN
	opts doctor.Options
	now  func() time.Time

	mu     sync.Mutex
	at     time.Time
	checks []system.Check
}

const (
	examinationKept = 30 * time.Second
	checkTime       = 3 * time.Second
)

// report returns the checks, worst first, and their time.
func (e *examination) report(ctx context.Context) ([]system.Check, time.Time, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.now(); e.checks != nil && now.Sub(e.at) < examinationKept && !now.Before(e.at) {
		return e.checks, e.at, nil
	}
	e.opts.Timeout = checkTime
	r, err := doctor.Examine(ctx, e.dsn, e.opts)
	if err != nil {
		return nil, time.Time{}, &tasker.Error{Code: tasker.CodeUnavailable, Message: "the database cannot be examined " +
			"from outside; the log of the server has the reason", Err: err}
	}
	e.checks, e.at = []system.Check{}, e.now()
	for _, c := range r.Checks {
		e.checks = append(e.checks, system.Check{Name: c.Name, Status: string(c.Status), Seen: c.Seen, Do: c.Do})
	}
	return e.checks, e.at, nil
}
