package cli

import (
	"cmp"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskerhq/tasker"
)

// newDLQ groups the commands about cases.
func newDLQ(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "Investigate tasks that are stuck",
		Long: `A case is the investigation of a task that is stuck: why, since when, who looked and
what came of it. It changes nothing about the task. Repair the steps of the task
(task reset-step, resolve-step, complete-step), and it goes on by itself; then
say here what was found (dlq update).`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(
		newDLQList(s), newDLQShow(s), newDLQQueue(s), newDLQStats(s), newDLQStaleness(s),
		newDLQUpdate(s), newDLQReopen(s), newDLQOpen(s), newDLQDetect(s), newDLQTasks(s), newDLQReplay(s), newDLQPatterns(s), newDLQAct(s),
	)
	return cmd
}

// caseFlags are the flags by which lists of cases are narrowed.
type caseFlags struct {
	filter        tasker.CaseFilter
	reason, state string
	after, before string
}

func (c *caseFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.reason, "dlq-reason", "", "only opened for this reason")
	f.StringVar(&c.filter.Namespace, "namespace", "", "only of this namespace")
	f.StringVar(&c.filter.TaskName, "task-name", "", "only of tasks of this template or task type")
	f.StringVar(&c.state, "current-state", "", "only of tasks that are in this state now")
	f.StringVar(&c.filter.FailedStep, "failed-step", "", "only where this step failed")
	f.StringVar(&c.filter.Handler, "handler", "", "only where a step failed that this handler runs")
	f.StringVar(&c.filter.Fingerprint, "error-pattern", "", "only with this fingerprint, as the patterns show it")
	f.StringVar(&c.filter.ErrorMessage, "error-message", "", "only with this part of the error's message")
	f.StringVar(&c.after, "after", "", "only opened at this time or later; a time, or how long ago, such as 24h")
	f.StringVar(&c.before, "before", "", "only opened before this time, or longer ago than this")
	offer(cmd, "dlq-reason", tasker.ReasonStaleness, tasker.ReasonMaxRetries, tasker.ReasonCycle, tasker.ReasonWorkerUnavailable, tasker.ReasonManual)
}

// prepare reads what the flags hold into the filter.
func (c *caseFlags) prepare(s *session) error {
	c.filter.Reason, c.filter.CurrentState = tasker.CaseReason(c.reason), tasker.TaskState(c.state)
	var err error
	c.filter.After, c.filter.Before, err = s.timeFlags(c.after, c.before)
	return err
}

// timeFlags reads --after and --before.
func (s *session) timeFlags(after, before string) (from, until time.Time, err error) {
	a, err := s.timeFlag("--after", after)
	if err != nil {
		return from, until, err
	}
	b, err := s.timeFlag("--before", before)
	if err != nil {
		return from, until, err
	}
	if a != nil {
		from = *a
	}
	if b != nil {
		until = *b
	}
	return from, until, nil
}

// older lets flags go by the names that they had before as well.
func older(cmd *cobra.Command, names map[string]string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(names[name], name))
	})
}

// offer gives a flag its words to complete.
func offer[T ~string](cmd *cobra.Command, flag string, words ...T) {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		cmd.Long = err.Error() // the flag is defined by the caller, so this cannot happen
	}
}

// caseArg reads the argument that names a case.
func caseArg(arg string) (uuid.UUID, error) {
	id, err := uuid.Parse(arg)
	if err != nil {
		return uuid.Nil, usagef("%q is not a case's UUID", arg)
	}
	return id, nil
}

// minutes shows a number of minutes to a tenth.
func minutes(m float64) string {
	return strconv.FormatFloat(m, 'f', 1, 64) + " min"
}

// span shows a number of minutes in its largest unit.
func span(m float64) string {
	return brief(time.Duration(m * float64(time.Minute)))
}

// more says how to go on after a page that is full.
func (s *session) more(shown, limit int, flag string, next int64) error {
	if shown == 0 || shown < limit {
		return nil
	}
	return s.printf("\nMore: %s %d\n", flag, next)
}
