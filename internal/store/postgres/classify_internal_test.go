package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

func TestFullDisk(t *testing.T) {
	t.Parallel()
	err := classify(&pgconn.PgError{Code: "53100", Message: "could not extend file"})
	if !errors.Is(err, engine.ErrFull) || task.CodeOf(err) != task.Unavailable {
		t.Errorf("a full disk is %v", err)
	}
}
