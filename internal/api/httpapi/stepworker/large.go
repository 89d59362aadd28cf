package stepworker

import (
	"context"
	"io"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

type largeBackend interface {
	protocol.LargeResultBackend
	// ReceiveLargeResult is SendLargeResult of a result that comes part by part.
	ReceiveLargeResult(ctx context.Context, worker uuid.UUID, lease protocol.LeaseRef, receive func(to io.Writer) error,
	) (*protocol.LargeResultReceipt, error)
}

// LeasePath names a lease of a worker, in a request without a JSON body.
type LeasePath struct {
	Path
	StepUUID uuid.UUID `path:"step_uuid" doc:"The step."`
	Token    string    `header:"Tasker-Lease" maxLength:"255" doc:"Token of the step's lease. Without it the request is refused like one with an old token."`
}

func (p *LeasePath) lease() protocol.LeaseRef {
	return protocol.LeaseRef{StepUUID: p.StepUUID, Token: p.Token}
}

// ParentPath names a direct dependency of a step.
type ParentPath struct {
	LeasePath
	Name string `path:"name" maxLength:"255" doc:"Name of the dependency."`
}

func noLarge() error {
	return tasker.Errorf(tasker.CodeTooLarge, "the server keeps no large results")
}

// SendLarge stores a large result.
func (v *Verbs) SendLarge(ctx context.Context, params *LeasePath, receive func(io.Writer) error,
) (*protocol.LargeResultReceipt, error) {
	b, can := v.backend.(largeBackend)
	if !can {
		return nil, noLarge()
	}
	return b.ReceiveLargeResult(ctx, params.ID, params.lease(), receive)
}

// LargeParent opens the large result of a dependency.
func (v *Verbs) LargeParent(ctx context.Context, params *ParentPath) (io.ReadCloser, error) {
	b, can := v.backend.(largeBackend)
	if !can {
		return nil, noLarge()
	}
	return b.LargeParentResult(ctx, params.ID, params.lease(), params.Name)
}
