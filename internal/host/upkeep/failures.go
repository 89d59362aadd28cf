package upkeep

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
)

// analysisLook is the interval of checks for a due analysis. The time of the last one is stored, so that a new node
// does not repeat it.
const analysisLook = time.Minute

// failures analyses permanent failures and logs new findings.
func (u *Upkeep) failures() Loop {
	return Loop{Name: "patterns", Every: analysisLook, Polite: true, Once: func(ctx context.Context) (int, bool, error) {
		found, err := u.engine.AnalyzeFailures(ctx)
		if err != nil || found == nil {
			return 0, false, err
		}
		for _, a := range found.Raised {
			args := []any{"kind", a.Kind, "cases", a.Cases}
			if a.Reason != "" {
				args = append(args, "dlq_reason", a.Reason)
			}
			if a.Kind == engine.NewFingerprint {
				args = append(args, "error", a.Fingerprint, "namespace", a.Namespace)
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
