package kernel

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Grouper applies rules to fingerprints, in the transaction that stores a failure.
type Grouper interface {
	// Print returns the fingerprint for grouping. facts is called only with rules. An error is the database's.
	Print(ctx context.Context, tx Tx, namespace string, print failure.Print, facts func() deadletter.Facts,
		now task.Instant) (failure.Print, error)
}

func PrintBy(u *Unit, namespace string, print failure.Print, facts func() deadletter.Facts) (failure.Print, error) {
	if u.E.grouper == nil {
		return print, nil
	}
	return u.E.grouper.Print(u.Ctx, u.Tx, namespace, print, facts, u.Now)
}

// MessageOfCase drops NUL, which PostgreSQL cannot store.
func MessageOfCase(f *task.Failure) string {
	return strings.ReplaceAll(failure.Cut(f.Message, task.MaxCaseMessage), "\x00", " ")
}
