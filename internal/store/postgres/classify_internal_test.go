package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestFullDisk(t *testing.T) {
	t.Parallel()
	err := classify(&pgconn.PgError{Code: "53100", Message: "could not extend file"})
	if !errors.Is(err, engine.ErrFull) || task.CodeOf(err) != task.Unavailable {
		t.Errorf("a full disk is %v", err)
	}
}

// The error explains the effect of a pooler on prepared statements.
func TestSharedConnections(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"42P05", "26000", "08P01"} {
		var e *task.Error
		if err := classify(&pgconn.PgError{Code: code}); !errors.As(err, &e) || e.Code != task.Unavailable ||
			!strings.Contains(e.Hint, "add pgbouncer=true to the DSN") {
			t.Errorf("%s is explained as %+v", code, e)
		}
	}
}
