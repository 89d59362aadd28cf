package local

import (
	"cmp"
	"context"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/audit"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

// Chain is an operate.ChainBackend on a database.
type Chain struct{ trail *audit.Trail } // nil: the store has no chain

var _ operate.ChainBackend = Chain{}

// NewChain returns the chain of a Trail.
func NewChain(t *audit.Trail) Chain { return Chain{t} }

func chainOf(e *engine.Engine, store any) Chain {
	db, ok := store.(audit.Database)
	if !ok {
		return Chain{}
	}
	return Chain{audit.New(db, e.Now, e.Config().Limits.PageBytes)}
}

func noChain() error {
	return tasker.Errorf(tasker.CodeUnavailable, "a store in memory has no hash chain of the audit trail")
}

// AuditChain implements operate.ChainBackend. A limit of 0 means the default.
func (c Chain) AuditChain(ctx context.Context, f operate.AuditChainFilter) (*operate.AuditChain, error) {
	if c.trail == nil {
		return nil, noChain()
	}
	f.Limit = cmp.Or(f.Limit, defaultPage)
	links, err := c.trail.Links(ctx, f.Above, f.Limit)
	if err != nil {
		return nil, ToError(err)
	}
	// Read after the links: a verifier that misses links then sees that they were archived.
	archives, err := c.trail.Archives(ctx)
	if err != nil {
		return nil, ToError(err)
	}
	out := &operate.AuditChain{Archives: make([]operate.AuditArchive, len(archives)),
		Links: make([]operate.AuditLink, len(links))}
	for i, a := range archives {
		out.Archives[i] = operate.AuditArchive{Seq: a.Head.Seq, Head: a.Head.String(), At: shownTime(int64(a.At)),
			Acts: a.Acts}
	}
	for i := range links {
		l := &links[i].Link
		out.Links[i] = operate.AuditLink{Seq: l.Seq, ActNo: l.Act, SealedAt: shownTime(l.SealedAt),
			Content: l.Content.String(), Hash: l.Hash.String()}
		if links[i].Act != nil {
			record := toRecord(links[i].Act)
			out.Links[i].Act = &record
		}
	}
	return out, nil
}

// shownTime returns a time that JSON can express; Tasker stored no other.
func shownTime(micros int64) time.Time {
	if at := task.Instant(micros).Time(); at.Year() > 0 && at.Year() < 10_000 {
		return at
	}
	return time.Time{}
}

// LooseActs implements operate.ChainBackend.
func (c Chain) LooseActs(ctx context.Context, above int64) (*operate.LooseActs, error) {
	if c.trail == nil {
		return nil, noChain()
	}
	loose, next, err := c.trail.Loose(ctx, above)
	if err != nil {
		return nil, ToError(err)
	}
	out := &operate.LooseActs{Acts: make([]operate.LooseAct, len(loose)), Next: next}
	for i, l := range loose {
		out.Acts[i] = operate.LooseAct{No: l.No, State: operate.ActInserted}
		switch {
		case !l.Exists:
			out.Acts[i].State = operate.ActRemoved
		case l.Waiting:
			out.Acts[i].State = operate.ActWaiting
		}
	}
	return out, nil
}
