package node

import (
	"context"
	"io"
	"time"

	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/engine/audit"
	"github.com/taskerhq/tasker/internal/kit/chain"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// AuditTrail is the audit trail of a database, without an engine or a server. Only one process can open a SQLite
// file, so its server must be stopped.
type AuditTrail struct {
	local.Chain

	trail *audit.Trail
	store io.Closer
}

// OpenAuditTrail opens the audit trail of a database, whose schema must be up to date. It blocks until the database
// answers. CodeInvalid: the DSN, or a store in memory.
func OpenAuditTrail(ctx context.Context, dsn string) (*AuditTrail, error) {
	s, err := openDatabase(ctx, dsn)
	if err != nil {
		return nil, local.ToError(err)
	}
	now := func() task.Instant { return task.At(time.Now()) }
	trail := audit.New(s, now, settings.Config{}.WithDefaults().Limits.PageBytes)
	return &AuditTrail{Chain: local.NewChain(trail), trail: trail, store: s}, nil
}

func openDatabase(ctx context.Context, dsn string) (store.Database, error) {
	kind, what, err := locate(dsn)
	if err != nil {
		return nil, err
	}
	switch kind {
	case inMemory:
		return nil, task.Errorf(task.Invalid, "a store in memory ends with its process, and has no audit trail to open")
	case onServer:
		return openServer(ctx, what, store.ServerOptions{Migrate: migration.Never})
	default:
		return sqlite.Open(ctx, what, &sqlite.Options{Migrate: migration.Never})
	}
}

// Close closes the database.
func (t *AuditTrail) Close() error { return t.store.Close() }

// AuditArchive records which acts were archived, by whom and why.
type AuditArchive struct {
	Head          string // the last archived link
	Acts          int64  // their number
	File          string // where they are
	Actor, Reason string
}

// Archive records the archive of the acts up to a head; see audit.Trail. CodeInvalid: the head is malformed.
func (t *AuditTrail) Archive(ctx context.Context, a AuditArchive) error {
	head, err := chain.ParseHead(a.Head)
	if err != nil {
		return local.ToError(task.Errorf(task.Invalid, "%v", err))
	}
	return local.ToError(t.trail.Archive(ctx, audit.Archived{Head: head, Acts: a.Acts, File: a.File, Actor: a.Actor,
		Reason: a.Reason}))
}

// Drop deletes a batch of archived acts, and reports whether more may be left.
func (t *AuditTrail) Drop(ctx context.Context) (n int, more bool, err error) {
	n, more, err = t.trail.Drop(ctx)
	return n, more, local.ToError(err)
}
