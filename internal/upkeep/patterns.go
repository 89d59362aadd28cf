package upkeep

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
)

// patternsLook is how often it is asked whether an analysis is due. When is stored,
// so that a node that starts does not analyse again what another has.
const patternsLook = time.Minute

// patterns analyses what has failed for good, and tells of what is new.
func (u *Upkeep) patterns() *loop {
	return &loop{name: "patterns", every: patternsLook, polite: true, once: func(ctx context.Context) (int, bool, error) {
		found, err := u.engine.AnalyzePatterns(ctx)
		if err != nil || found == nil {
			return 0, false, err
		}
		for _, a := range found.Raised {
			args := []any{"kind", a.Kind, "cases", a.Cases}
			if a.Reason != "" {
				args = append(args, "dlq_reason", a.Reason)
			}
			if a.Kind == engine.NewPattern {
				args = append(args, "error", a.Error, "namespace", a.Namespace)
			}
			if a.Kind == engine.ManyReplayable {
				u.log.Info(a.Message(), args...)
			} else {
				u.log.Warn(a.Message(), args...)
			}
		}
		return len(found.Raised), false, nil
	}}
}
