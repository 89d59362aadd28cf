package node

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

const (
	inMemory = "memory"
	onSQLite = "sqlite"
	onServer = "postgres"
)

// locate returns the database engine of a DSN and its path, or the DSN itself.
func locate(dsn string) (kind, what string, err error) {
	kind, what = onSQLite, dsn
	scheme, rest, _ := strings.Cut(dsn, ":")
	switch scheme {
	case inMemory:
		return inMemory, "", nil
	case "postgres", "postgresql":
		return onServer, dsn, nil
	case onSQLite:
		what = strings.TrimPrefix(rest, "//")
	}
	if what == "" {
		return "", "", &task.Error{Code: task.Invalid, Message: "the DSN names no file",
			Hint: "use sqlite:PATH, a plain path, postgres://..., or memory:"}
	}
	return kind, what, nil
}

func openStore(ctx context.Context, dsn string, opts Options) (engine.Database, error) {
	kind, what, err := locate(dsn)
	if err != nil {
		return nil, err
	}
	switch kind {
	case inMemory:
		return sqlite.OpenMemory(ctx, nil)
	case onServer:
		return openServer(ctx, what, store.ServerOptions{Migrate: opts.Migrate, PoolSize: opts.PoolSize})
	default:
		return sqlite.Open(ctx, what, &sqlite.Options{Migrate: opts.Migrate})
	}
}

func server() (store.Server, error) {
	s, err := store.Servers.Find(store.Postgres)
	if err != nil {
		return s, task.Errorf(task.Invalid, "%v", err)
	}
	return s, nil
}

func openServer(ctx context.Context, dsn string, o store.ServerOptions) (store.Database, error) {
	s, err := server()
	if err != nil {
		return nil, err
	}
	return s.Open(ctx, dsn, o)
}
