package local

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/operate"
)

// defaultStatsTasks is the default number of tasks in TemplateStats.
const defaultStatsTasks = 100

// TemplateStats implements operate.TemplateBackend.
func (b *Backend) TemplateStats(ctx context.Context, f operate.TemplateStatsFilter) (*operate.TemplateStats, error) {
	var faults filterFaults
	faults.names("namespace", f.Namespace, "name", f.Name, "version", f.Version)
	if err := faults.err(); err != nil {
		return nil, err
	}
	limit := b.page(f.Tasks, defaultStatsTasks)
	s, err := b.engine.TemplateStats(ctx, f.Namespace, f.Name, f.Version, limit)
	if err != nil {
		return nil, ToError(err)
	}
	out := &operate.TemplateStats{Namespace: s.Template.Namespace, Name: s.Template.Name, Version: s.Template.Version,
		Tasks: s.Tasks, Complete: s.Complete, Failed: s.Failed, Cancelled: s.Cancelled, Took: spreadOf(s.Took),
		Steps: make([]operate.StepStats, len(s.Steps))}
	if s.Tasks > 0 {
		first, last := s.Oldest.Time(), s.Newest.Time()
		out.SubmittedAt, out.LastAt = &first, &last
	}
	for i := range s.Steps {
		of := &s.Steps[i]
		out.Steps[i] = operate.StepStats{Name: of.Name, Begun: of.Begun, Complete: of.Complete, Failed: of.Failed,
			Attempts: of.Attempts, FailedAttempts: of.FailedAttempts, Ran: spreadOf(of.Ran), Waited: spreadOf(of.Waited)}
		if of.Attempts > 0 {
			out.Steps[i].FailureRate = float64(of.FailedAttempts) / float64(of.Attempts)
		}
	}
	return out, nil
}

func spreadOf(s engine.Spread) *operate.Spread {
	if s.Max == 0 {
		return nil
	}
	return &operate.Spread{P50: milli(s.P50), P95: milli(s.P95), Max: milli(s.Max)}
}
