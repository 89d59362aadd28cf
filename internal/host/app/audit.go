package app

import (
	"context"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/node"
)

// AuditTrail is the audit trail of a database, without a server.
type AuditTrail = node.AuditTrail

// OpenAuditTrail opens the audit trail of a database. The caller closes it.
func OpenAuditTrail(ctx context.Context, at config.DSN) (*AuditTrail, error) {
	return node.OpenAuditTrail(ctx, at.Source())
}

// AuditArchive records which acts were archived, by whom and why.
type AuditArchive = node.AuditArchive
