package inbox

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/access"
)

// require refuses a request whose key has none of some permissions, with forbidden. what completes "the permission to".
// A server without keys admits everybody.
func require(ctx context.Context, what string, oneOf ...access.Permission) error {
	p := access.From(ctx)
	if p == nil || p.Can(oneOf...) {
		return nil
	}
	names := make([]string, len(oneOf))
	for i, permission := range oneOf {
		names[i] = string(permission)
	}
	return &tasker.Error{Code: tasker.CodeForbidden, Message: "the key " + p.Name + " lacks the permission to " + what,
		Hint: "the request needs " + strings.Join(names, " or ")}
}

// mayOperate refuses an operation on many that the key may not do. Whoever may operate may run the failed steps of
// tasks again one by one, and so may do it to many.
//
// Discarding and restoring share a permission: whoever may give letters up may take that back.
func mayOperate(ctx context.Context, op deadletters.Operation, of *deadletters.Selection,
	edit *deadletters.Edit,
) error {
	needs, what := []access.Permission{access.DeadLettersRedrive}, "redrive"
	if op != deadletters.OpRedrive {
		needs, what = []access.Permission{access.DeadLettersDiscard}, "discard and restore"
	}
	if of.Kind == deadletters.KindCase {
		needs = append(needs, access.Operate)
	}
	if err := require(ctx, what, needs...); err != nil || edit == nil {
		return err
	}
	needs = []access.Permission{access.DeadLettersEdit}
	if of.Kind == deadletters.KindCase {
		needs = append(needs, access.Operate)
	}
	return require(ctx, "edit", needs...)
}

// seesContent reports whether the key of a request may read letters, whose payloads may be confidential. It is asked
// where a route that needs less shows a letter or a part of one: the sample of a group, the differences of an edit.
func seesContent(ctx context.Context) bool {
	p := access.From(ctx)
	return p == nil || p.Can(access.DeadLettersRead)
}
