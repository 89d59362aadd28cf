package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/operate"
)

// bulkReplay replays at most limit tasks, rate tasks per second.
type bulkReplay struct {
	failedTaskFlags
	all, again, dryRun bool
	rate               float64
	limit              int
}

const (
	// maxReplayed is the limit of a redrive.
	maxReplayed = 1_000_000
	// replayCanary is the size of the first wave, which bounds the wasted attempts of a remaining cause.
	replayCanary = 20
	// replayReturned is the share of a wave that may fail again, the only bound: many tasks of one cause may fail
	// while most succeed.
	replayReturned = 0.5
	// noBound is beyond any wave.
	noBound = 100_000
)

// replayed is the result of a bulk replay when the command ends. Stopped is the reason of an early end, "" for
// none.
type replayed struct {
	RedriveUUID *uuid.UUID `json:"redrive_uuid,omitempty"` // nil for a dry run and an empty selection
	Found       int        `json:"found"`
	Replayed    int        `json:"replayed"`
	Completed   int        `json:"completed"`    // of those replayed
	FailedAgain int        `json:"failed_again"` // of those replayed
	Skipped     int        `json:"skipped"`      // no longer in error at their turn
	Failed      int        `json:"failed"`       // could not be replayed
	DryRun      bool       `json:"dry_run,omitempty"`
	Capped      bool       `json:"found_capped,omitempty"` // more tasks match than found
	Stopped     string     `json:"stopped,omitempty"`
}

// replayAll starts a redrive of the matching tasks and follows it to its end. It prints the counts even if the
// redrive halts, or an interrupt ends the command, not the redrive.
func (s *session) replayAll(ctx context.Context, c *tasker.Client, b *bulkReplay, req operate.ReplayRequest) error {
	namespace, err := namespaceOfFailed(ctx, c, b.filter)
	if err != nil {
		return err
	}
	if namespace == "" {
		return s.printReplayed(&replayed{DryRun: b.dryRun})
	}
	request := b.redrive(namespace, req)
	if b.dryRun {
		return s.previewReplay(ctx, c, request)
	}
	r, err := deadletters.Of(c).CreateRedrive(ctx, request)
	if tasker.ErrorCode(err) == tasker.CodeConflict { // it selects nothing
		return s.printReplayed(&replayed{})
	}
	if err != nil {
		return err
	}
	s.sayWatch("Started redrive", r.RedriveUUID)
	now, err := s.followRedrive(ctx, c, r.RedriveUUID)
	if now == nil {
		now = r
	}
	out := replayedBy(now)
	if printed := s.printReplayed(&out); err == nil {
		err = printed
	}
	if errors.Is(err, context.Canceled) {
		s.sayWatch("Interrupted; the server goes on with redrive", r.RedriveUUID)
	}
	if err == nil && out.Stopped != "" {
		err = tasker.Errorf(tasker.CodeWrongState, "stopped: %s", out.Stopped)
	}
	return err
}

// sayWatch prints how to watch a redrive on standard error; not with --json, which names it.
func (s *session) sayWatch(what string, id uuid.UUID) {
	if !s.json {
		fmt.Fprintf(s.Err, "%s %s; to watch it: tasker redrive watch %s\n", what, id, id)
	}
}

// redrive requests the tasks of `dlq tasks`, without --again only those never replayed: repeating the others
// blindly would loop.
func (b *bulkReplay) redrive(namespace string, req operate.ReplayRequest) deadletters.RedriveRequest {
	sel := deadletters.Selection{Namespace: namespace, Kind: deadletters.KindCase, Template: b.filter.TaskType,
		ErrorType: b.filter.Fingerprint, CaseReason: b.filter.Reason, Retryable: b.filter.Retryable,
		FirstAfter: b.filter.After, FirstBefore: b.filter.Before, TaskState: tasker.TaskError}
	if !b.again {
		sel.Replayed = new(bool)
	}
	return deadletters.RedriveRequest{Operation: deadletters.OpRedrive, Selection: sel, Start: true,
		Plan: deadletters.Plan{Canary: replayCanary, Rate: b.rate, Limit: b.limit, KeepAttempts: !req.ResetRetryCount,
			Priority: req.NewPriority},
		Stop: deadletters.StopRule{ReturnedShare: replayReturned, SamePrint: noBound, Failed: noBound},
		Act:  deadletters.Act{Actor: req.ReplayedBy, Reason: req.Reason}}
}

// namespaceOfFailed returns the namespace of the matching failed tasks, "" for none. A redrive has one namespace,
// so several are refused. Without --namespace it reads the list until a second one.
func namespaceOfFailed(ctx context.Context, c *tasker.Client, f operate.FailedTaskFilter) (string, error) {
	found := f.Namespace
	for f.Limit = 1000; f.Namespace == ""; {
		page, err := operate.Of(c).FailedTasks(ctx, f)
		if err != nil {
			return "", err
		}
		for i := range page.Tasks {
			name := page.Tasks[i].Namespace
			if found != "" && name != found {
				return "", &tasker.Error{Code: tasker.CodeInvalid,
					Message: fmt.Sprintf("there are failed tasks in several namespaces, such as %s and %s", found, name),
					Hint:    "give one with --namespace: a replay of many stays within one namespace"}
			}
			found = name
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			break
		}
	}
	return found, nil
}

func (s *session) previewReplay(ctx context.Context, c *tasker.Client, req deadletters.RedriveRequest) error {
	p, err := deadletters.Of(c).PreviewRedrive(ctx, req)
	if err != nil {
		return err
	}
	if len(p.Problems) > 0 {
		return &tasker.Error{Code: tasker.CodeInvalid, Message: "the replay would be refused", Details: p.Problems}
	}
	return s.printReplayed(&replayed{Found: p.Total, Capped: p.Capped, DryRun: true})
}

func replayedBy(r *deadletters.Redrive) replayed {
	out := replayed{RedriveUUID: &r.RedriveUUID, Found: r.Total, Completed: r.Counts.Completed,
		FailedAgain: r.Counts.Returned, Skipped: r.Counts.Skipped, Failed: r.Counts.Failed,
		Replayed: r.Counts.Sent + r.Counts.Returned + r.Counts.Completed}
	switch r.State {
	case deadletters.RedriveHalted:
		out.Stopped = r.HaltReason
	case deadletters.RedrivePaused, deadletters.RedriveCancelled:
		out.Stopped = "the redrive is " + string(r.State)
	}
	return out
}

func (s *session) printReplayed(r *replayed) error {
	switch {
	case s.json:
		return s.printJSON(r)
	case r.DryRun:
		return s.printf("%s would be replayed\n", counted(r.Found, r.Capped))
	}
	if err := s.printf("✓ %s replayed, %d skipped, of %d\n", counted(r.Replayed, false), r.Skipped, r.Found); err != nil ||
		r.RedriveUUID == nil {
		return err
	}
	f := s.newFields("  ")
	f.add("Redrive", r.RedriveUUID.String())
	f.add("Completed", fmt.Sprint(r.Completed))
	f.add("Failed again", fmt.Sprint(r.FailedAgain))
	if r.Failed > 0 {
		f.add("Not replayed", fmt.Sprint(r.Failed))
	}
	return s.write([]byte(f.String()))
}
