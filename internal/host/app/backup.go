package app

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/node"
)

// Copied is a copy of a database file. Database is a DSN without its password.
type Copied struct {
	Database string `json:"database"`
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"`
}

// CopyFile copies the configured SQLite file, even while it is open, to a new file.
func CopyFile(ctx context.Context, cfg *config.Config, file string) (*Copied, error) {
	dsn, err := config.ParseDSN(cfg.DB.DSN)
	if err != nil {
		return nil, tasker.Errorf(tasker.CodeInvalid, "db.dsn: %v", err)
	}
	size, err := node.Backup(ctx, dsn.Source(), file)
	if err != nil {
		return nil, err
	}
	return &Copied{dsn.String(), file, size}, nil
}
