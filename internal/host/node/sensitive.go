package node

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/task"
)

// OfSource returns the sensitive fields of a source's letters by its current settings. A source with any cannot be
// removed, so an unknown source has none.
func (n *Node) OfSource(ctx context.Context, namespace, source string) (sensitive.Rule, error) {
	if n.inbox == nil {
		return sensitive.Rule{}, nil
	}
	rule, err := n.inbox.SensitiveOf(ctx, namespace, source)
	return rule, local.ToError(err)
}

// OfLetter returns the sensitive fields of a letter, or CodeNotFound.
func (n *Node) OfLetter(ctx context.Context, id uuid.UUID) (sensitive.Rule, error) {
	if n.inbox == nil {
		return sensitive.Rule{}, nil
	}
	rule, err := n.inbox.SensitiveOfLetter(ctx, task.ID(id))
	return rule, local.ToError(err)
}

// OfNamespace returns all sensitive fields in a namespace; "" means all namespaces.
func (n *Node) OfNamespace(ctx context.Context, namespace string) (sensitive.Rule, error) {
	rule, err := n.OfTemplates(ctx, namespace)
	if err != nil || n.inbox == nil {
		return rule, err
	}
	of, err := n.inbox.SensitiveOfAll(ctx, namespace)
	if err != nil {
		return sensitive.Rule{}, local.ToError(err)
	}
	rule.Pointers, rule.Headers = append(rule.Pointers, of.Pointers...), of.Headers
	return rule, nil
}
