package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQShow takes the task, not the case, because an alert names the task. It reads GET /v1/dlq/task/{task_uuid}.
// --json prints an operate.Case with its snapshot and notes.
func newDLQShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "show TASK_UUID",
		Short:   "Show the latest case of a task, its notes, and a snapshot of the task",
		Example: `  tasker dlq show 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(taskArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			return answered(s, s.printCase)(operate.Of(c).CaseOfTask(ctx, id))
		})),
	}
}

// printCase adds the next commands for a pending case.
func (s *session) printCase(c *operate.Case) error {
	f := s.newFields("  ")
	f.add("Case", c.CaseUUID.String())
	f.add("Task", c.TaskUUID.String())
	f.add("Name", qualified(c.Namespace, c.TaskName))
	f.add("Reason", string(c.Reason))
	f.add("Cause", string(c.Cause))
	f.add("Failed step", c.FailedStep)
	f.add("Error", c.ErrorMessage)
	f.add("Class", string(c.Class))
	f.add("Opened", s.stampAgo(&c.OpenedAt))
	// The fields above describe a first occurrence.
	if c.OccurrenceCount > 1 {
		f.add("Occurrences", fmt.Sprintf("%d, last at %s", c.OccurrenceCount, s.stampAgo(&c.LastOccurredAt)))
	}
	f.add("Recovered", s.recovery(c.Recovery))
	f.add("Status", string(c.ResolutionStatus))
	f.add("Resolved", s.stampAgo(c.ResolvedAt))
	f.add("Resolved by", byWhom(c.ResolvedBy, c.ResolvedByKey))
	f.add("Replays", s.replays(c.ReplayCount, c.LastReplayedAt, c.LastReplayedBy, c.LastReplayedByKey))
	f.block("Notes", c.ResolutionNotes)
	f.add("Metadata", compact(c.Metadata))
	if err := s.write([]byte("✓ Case Details:\n\n" + f.String())); err != nil {
		return err
	}
	if err := s.printOccurrences(c); err != nil {
		return err
	}
	if err := s.printThread(c.Notes); err != nil {
		return err
	}
	if len(c.Snapshot) > 0 {
		if err := s.printSnapshot(c.Snapshot); err != nil {
			return err
		}
	}
	if c.ResolutionStatus != tasker.CasePending {
		return nil
	}
	return s.printf("\nNext: %s task explain %s\nThen: %s dlq update %s --status manually_resolved --notes '...'\n",
		s.name, c.TaskUUID.String(), s.name, c.CaseUUID.String())
}

// printSnapshot ignores unknown members, because the snapshot is stored JSON of any earlier version.
func (s *session) printSnapshot(raw json.RawMessage) error {
	var snap operate.CaseSnapshot
	if err := json.Unmarshal(raw, &snap); err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	f := s.newFields("  ")
	f.add("Finding", snap.Detail)
	f.add("Version", snap.Version)
	f.add("State", string(snap.CurrentState))
	inState := minutes(snap.TimeInStateMinutes)
	if snap.ThresholdMinutes > 0 {
		inState += " of " + minutes(snap.ThresholdMinutes)
	}
	f.add("Time in state", inState)
	f.add("Age", minutes(snap.TaskAgeMinutes))
	f.add("Priority", string(snap.Priority))
	f.add("Correlation ID", snap.CorrelationID)
	f.add("Context", compact(snap.Context))
	if err := s.write([]byte("\nSnapshot of the task:\n\n" + f.String() + "\n")); err != nil {
		return err
	}
	t := s.newTable("STEP", "STATE", "ATTEMPTS", "DEPENDS ON", "WORKER", "LAST FAILURE", "ERROR")
	t.dropFirst("WORKER", "LAST FAILURE", "DEPENDS ON")
	for i := range snap.Steps {
		st := &snap.Steps[i]
		t.row(st.Name, string(st.CurrentState), fmt.Sprintf("%d/%d", st.Attempts, st.MaxAttempts),
			strings.Join(st.Dependencies, ", "), st.Worker, stamp(st.LastFailureAt), describeFailure(st.LastError))
	}
	return t.flush()
}
