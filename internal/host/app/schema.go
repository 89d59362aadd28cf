package app

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/store/migration"
)

// Schema is the schema of the configured database.
type Schema struct {
	*node.Schema

	DSN string
}

// OpenSchema opens the schema; migrations need write.
func OpenSchema(cfg *config.Config, write bool) (*Schema, error) {
	dsn, err := config.ParseDSN(cfg.DB.DSN)
	if err != nil {
		return nil, tasker.Errorf(tasker.CodeInvalid, "db.dsn: %v", err)
	}
	s, err := node.OpenSchema(dsn.Source(), write)
	if err != nil {
		return nil, err
	}
	return &Schema{s, dsn.String()}, nil
}

// Pending returns the next migrations. It fails on a database that this binary must not change.
func (s *Schema) Pending(ctx context.Context) ([]migration.File, error) {
	list, err := s.Status(ctx)
	if err == nil {
		err = s.Check(list)
	}
	return migration.PendingFiles(list), err
}
