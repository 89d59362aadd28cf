package local

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

// fromCase converts a case. A case without a snapshot was read for a list, without notes and occurrences. An unreadable
// template has a stand-in and is Damage, not an error.
func (b *Backend) fromCase(ctx context.Context, c *task.Case) (*operate.Case, error) {
	tpl, err := b.engine.TemplateOf(ctx, c.DefID)
	if err != nil {
		return nil, ToError(err)
	}
	// Shown may remove a damaged snapshot, so decide before it.
	whole := c.Snapshot != nil
	c, damage := c.Shown()
	out := &operate.Case{Damage: damages(damage, tpl.Unread), CaseUUID: toUUID(c.ID), TaskUUID: toUUID(c.TaskID),
		Namespace: tpl.Namespace, TaskName: tpl.Name, OriginalState: tasker.TaskState(c.OriginalState),
		Reason: tasker.CaseReason(c.Reason), Cause: operate.CaseCause(c.Cause), OpenedAt: c.OpenedAt.Time(),
		OccurrenceCount: c.Occurrences, LastOccurredAt: c.OccurredAt.Time(), FailedStep: c.Step,
		Handler: handlerOf(tpl, c.Step), Fingerprint: c.Fingerprint, ErrorMessage: c.Message,
		Class: tasker.FailureClass(c.Class), Retryable: c.Retryable, Snapshot: c.Snapshot,
		Recovery: fromRecovery(c.Recovery), ResolutionStatus: tasker.CaseResolution(c.Status), ResolutionNotes: c.Notes,
		ResolvedAt: c.ResolvedAt.Ptr(), ResolvedBy: c.ResolvedBy, ResolvedByKey: c.ResolvedKey,
		Metadata: c.Metadata, MetadataOmitted: c.MetadataOmitted, ReplayCount: c.Replays.Count,
		LastReplayedAt: c.Replays.At, LastReplayedBy: c.Replays.By, LastReplayedByKey: c.Replays.Key,
		CreatedAt: c.CreatedAt.Time(), UpdatedAt: c.UpdatedAt.Time(), NoteCount: c.NoteCount, ETag: c.Seen().Version}
	if !whole {
		return out, nil // for a list
	}
	for _, n := range c.Thread {
		out.Notes = append(out.Notes, operate.CaseNote{No: n.No, At: n.At.Time(), Author: n.Author, Key: n.Key, Text: n.Text})
	}
	for _, o := range c.Former {
		out.Occurrences = append(out.Occurrences, fromOccurrence(o))
	}
	// The latest occurrence is part of the case's row, not of Former. It comes last, in order of time.
	latest := c.Latest()
	latest.Snapshot = nil // the case itself has it
	out.Occurrences = append(out.Occurrences, fromOccurrence(latest))
	return out, nil
}

// handlerOf returns "" for an unknown step: a stand-in for a deleted template has no steps.
func handlerOf(tpl *task.Template, step string) string {
	for _, spec := range tpl.Steps {
		if spec.Name == step {
			return spec.Handler
		}
	}
	return ""
}

func fromOccurrence(o task.Occurrence) operate.CaseOccurrence {
	return operate.CaseOccurrence{No: o.No, OccurredAt: o.At.Time(), Reason: tasker.CaseReason(o.Reason),
		Cause: operate.CaseCause(o.Cause), OriginalState: tasker.TaskState(o.OriginalState), FailedStep: o.Step,
		Fingerprint: o.Fingerprint, ErrorMessage: o.Message, Class: tasker.FailureClass(o.Class),
		Retryable: o.Retryable, Recovery: fromRecovery(o.Recovery), Snapshot: o.Snapshot}
}

func fromRecovery(r *task.Recovery) *operate.CaseRecovery {
	if r == nil {
		return nil
	}
	return &operate.CaseRecovery{At: r.At, State: tasker.TaskState(r.State), By: r.By, ByKey: r.Key, How: r.How,
		FinishedAt: r.FinishedAt}
}
