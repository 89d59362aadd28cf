package cli

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQ: reading needs the permission read, changing operate. A case is about one task; `inbox` shows cases and
// letters by cause.
func newDLQ(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "Investigate stuck tasks",
		Long: `A case records the investigation of a stuck task: reason, time, notes, resolution. A
case does not change its task. Repair the steps of the task (task reset-step,
resolve-step, complete-step); the task then continues automatically. Record the
findings in the case (dlq update).`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(
		newDLQList(s),
		newDLQShow(s),
		newDLQQueue(s),
		newDLQStats(s),
		newDLQStaleness(s),
		newDLQUpdate(s),
		newDLQReopen(s),
		newDLQOpen(s),
		newDLQDetect(s),
		newDLQTasks(s),
		newDLQReplay(s),
		newDLQPatterns(s),
		newDLQAct(s),
	)
	return cmd
}

// caseFlags are the filters of all lists and bulk commands of cases, combined with AND; an empty one matches every
// case.
type caseFlags struct {
	filter        operate.CaseFilter
	reason, state string
	after, before string
}

// add takes reasons and states as strings: the server validates them, so an older client can use a newer server's
// values.
func (c *caseFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.reason, "dlq-reason", "", "filter by the reason of the case")
	f.StringVar(&c.filter.Namespace, "namespace", "", "filter by namespace")
	f.StringVar(&c.filter.TaskName, "name", "", "filter by task name: the template or the task type")
	f.StringVar(&c.state, "state", "", "filter by the current state of the task")
	f.StringVar(&c.filter.FailedStep, "failed-step", "", "filter by the name of the failed step")
	f.StringVar(&c.filter.Handler, "handler", "", "filter by the handler of the failed step")
	f.StringVar(&c.filter.Fingerprint, "fingerprint", "",
		"filter by fingerprint of the error, as 'dlq patterns' prints it")
	f.StringVar(&c.filter.ErrorMessage, "error-message", "", "filter by a part of the error message")
	f.StringVar(&c.after, "after", "", "opened at or after: a time, or an age such as 24h")
	f.StringVar(&c.before, "before", "", "opened before: a time, or an age such as 24h")
	aliases(cmd, map[string]string{"task-name": "name", "current-state": "state", "error-pattern": "fingerprint"})
	offer(cmd, "dlq-reason", tasker.ReasonStaleness, tasker.ReasonMaxRetries, tasker.ReasonCycle,
		tasker.ReasonWorkerUnavailable, tasker.ReasonManual)
}

func (c *caseFlags) prepare(s *session) error {
	c.filter.Reason, c.filter.CurrentState = tasker.CaseReason(c.reason), tasker.TaskState(c.state)
	var err error
	c.filter.After, c.filter.Before, err = s.timeFlags(c.after, c.before)
	return err
}

func minutes(m float64) string {
	return strconv.FormatFloat(m, 'f', 1, 64) + " min"
}

func span(m float64) string {
	return brief(time.Duration(m * float64(time.Minute)))
}
