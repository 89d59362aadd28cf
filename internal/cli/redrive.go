package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newRedrive: a redrive runs in the node that has the turn, and continues when this command or the server ends.
func newRedrive(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "redrive",
		Short: "Send dead letters and failed tasks back in waves",
		Long: `A redrive acts on a frozen selection of dead letters and cases: what arrives later is not
included. It begins with a small wave, observes what comes back, continues with larger
waves, and halts when its stop rule says so.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(
		newRedrivePlan(s),
		newRedriveStart(s),
		newRedriveWatch(s),
		newRedriveAct(s, deadletters.PauseRedrive, "Pause a redrive"),
		newRedriveAct(s, deadletters.ResumeRedrive, "Continue a redrive that is paused or halted"),
		newRedriveAct(s, deadletters.CancelRedrive, "Cancel a redrive; what was sent stays sent"),
		newRedriveReport(s),
		newRedriveList(s),
	)
	return cmd
}

// redriveFlags share selection and edit with the commands about letters, so `letter list` previews a redrive. req
// is complete after prepare. Zero values mean the server's defaults.
type redriveFlags struct {
	selectionFlags
	editFlags
	req       deadletters.RedriveRequest
	operation string
	kind      string
	observe   time.Duration
	// Selection and replay of cases.
	reason, retryable, taskState string
	replayed                     bool
	firstAfter, firstBefore      string
	priority                     string
}

func (r *redriveFlags) add(cmd *cobra.Command) {
	r.selectionFlags.add(cmd)
	r.editFlags.add(cmd)
	f := cmd.Flags()
	f.StringVar(&r.selection.Namespace, "namespace", "",
		"namespace of the letters and cases (default: that of --group or --id, else default)")
	f.StringVar(&r.selection.Template, "name", "", "filter by the template of cases")
	f.StringVar(&r.kind, "kind", "", "letter or case (default: both)")
	f.StringVar(&r.reason, "dlq-reason", "", "filter by the reason of cases")
	f.StringVar(&r.taskState, "task-state", "", "filter by the state of the tasks of cases")
	f.StringVar(&r.retryable, "retryable", "", "filter by whether a retry may help: true or false")
	f.BoolVar(&r.replayed, "replayed", false, "filter by sent back or replayed before (--replayed=false: never)")
	f.StringVar(&r.firstAfter, "first-after", "", "died first, or case opened, at or after: a time, or an age such as 24h")
	f.StringVar(&r.firstBefore, "first-before", "", "died first, or case opened, before: a time, or an age such as 24h")
	f.StringVar(&r.operation, "operation", "redrive", "redrive, discard or restore")
	f.StringVar(&r.req.Destination, "destination", "", "where letters are sent (default: their origins)")
	f.IntVar(&r.req.Plan.Canary, "canary", 0, "size of the first wave (default: the server's)")
	f.Float64Var(&r.req.Plan.Factor, "factor", 0, "each wave is that many times the one before (default: the server's)")
	f.IntVar(&r.req.Plan.Largest, "largest", 0, "size of the largest wave (default: the server's)")
	f.DurationVar(&r.observe, "observe", 0, "time to watch for returns after each wave (default: the server's)")
	f.Float64Var(&r.req.Plan.Rate, "rate", 0, "items per second (default: no limit)")
	f.IntVar(&r.req.Plan.Limit, "limit", 0, "maximum number of items, the oldest (default: all)")
	f.BoolVar(&r.req.Plan.KeepAttempts, "keep-attempts", false,
		"of cases: failed steps have only the attempts left, at least one")
	f.StringVar(&r.priority, "priority", "", "of cases: new priority of the tasks and their open steps")
	f.BoolVar(&r.req.Plan.AtMostOnce, "at-most-once", false,
		"leave a letter open whose send had no answer (default: send it again under the same number)")
	f.Float64Var(&r.req.Stop.ReturnedShare, "stop-share", 0, "halt when this share of a wave came back, above 0 to 1")
	f.IntVar(&r.req.Stop.SamePrint, "stop-same", 0, "halt when that many of a wave came back with one fingerprint")
	f.IntVar(&r.req.Stop.Failed, "stop-failed", 0, "halt when that many sends of a wave failed, or have no known outcome")
	f.BoolVar(&r.req.IncludeParked, "include-parked", false, "take letters that were sent back too often as well")
	choose(cmd, "operation", deadletters.OpRedrive, deadletters.OpDiscard, deadletters.OpRestore)
	choose(cmd, "kind", deadletters.KindLetter, deadletters.KindCase)
	offer(cmd, "dlq-reason", tasker.ReasonStaleness, tasker.ReasonMaxRetries, tasker.ReasonCycle, tasker.ReasonManual)
	offer(cmd, "retryable", "true", "false")
}

// prepare fills in only given values; the server supplies and validates the rest.
func (r *redriveFlags) prepare(s *session, cmd *cobra.Command) error {
	if err := r.selectionFlags.prepare(s, cmd); err != nil {
		return err
	}
	edits, err := r.editFlags.prepare(s)
	if err != nil {
		return err
	}
	if r.req.Edit = nil; edits {
		r.req.Edit = &r.edit
	}
	if r.observe < 0 {
		return usagef("--observe must not be negative")
	}
	if r.selection.Retryable, err = boolFlag("--retryable", r.retryable); err != nil {
		return err
	}
	if cmd.Flags().Changed("replayed") {
		r.selection.Replayed = &r.replayed
	}
	r.selection.CaseReason, r.selection.TaskState = tasker.CaseReason(r.reason), tasker.TaskState(r.taskState)
	r.selection.FirstAfter, r.selection.FirstBefore, err = s.timeFlagsNamed("--first-after", r.firstAfter,
		"--first-before", r.firstBefore)
	if err != nil {
		return err
	}
	r.req.Plan.Priority = tasker.Priority(r.priority)
	// The server finds the namespace of a group or a letter.
	if r.selection.Namespace == "" && len(r.selection.Groups)+len(r.selection.IDs) == 0 {
		r.selection.Namespace = "default"
	}
	r.selection.Kind, r.req.Operation = deadletters.Kind(r.kind), deadletters.Operation(r.operation)
	r.req.Selection, r.req.Plan.ObserveSeconds = r.selection, r.observe.Seconds()
	return nil
}

func (s *session) printRedrive(r *deadletters.Redrive) error {
	f := s.newFields("  ")
	f.add("Redrive", r.RedriveUUID.String())
	f.add("Operation", string(r.Operation))
	f.add("State", string(r.State))
	f.add("Halted", r.HaltReason)
	f.add("Items", strconv.Itoa(r.Total))
	f.add("Results", counts(&r.Counts))
	if r.Wave > 0 {
		f.add("Wave", fmt.Sprintf("%d: %d of %d", r.Wave, r.WaveSent, r.WaveSize))
	}
	f.add("Destination", r.Destination)
	f.add("Frozen", s.stampAgo(r.FrozenAt))
	f.add("Started", s.stampAgo(r.StartedAt))
	f.add("Ended", s.stampAgo(r.EndedAt))
	f.add("Actor", byWhom(r.Actor, r.KeyName))
	f.add("Reason", r.Reason)
	return s.write([]byte(f.String()))
}

// An item with an unanswered try counts as uncertain and under its state.
func counts(c *deadletters.ItemCounts) string {
	var out []string
	for _, n := range []struct {
		name string
		n    int
	}{{"pending", c.Pending}, {"sending", c.Sending}, {"unknown", c.Unknown}, {"sent", c.Sent}, {"returned", c.Returned},
		{"completed", c.Completed}, {"failed", c.Failed}, {"skipped", c.Skipped}, {"uncertain", c.Uncertain}} {
		if n.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n.n, n.name))
		}
	}
	return strings.Join(out, ", ")
}
