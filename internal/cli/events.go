package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// eventsCommand has the flags of `events`; prepare parses tasks, types and states into filter.
type eventsCommand struct {
	s             *session
	filter        tasker.EventFilter
	tasks         []string
	types, states []string
}

// newEvents streams GET /v1/events until an interrupt, or with --until-settled. A server accepts 1,000 streams.
// Events older than about a minute, or from before a restart, are not repeated: a gap reports that. --json prints a
// tasker.Event per line.
func newEvents(s *session) *cobra.Command {
	c := &eventsCommand{s: s}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Stream events of tasks, cases, the inbox and the queue",
		Long: `Stream events of tasks, cases, the inbox of failures and the queue, one per line, until
interrupted. After a lost connection the command reconnects and resumes the stream. A
"stream.gap" line marks a place where events may be missing.

With --json each line is one event. To resume after an event, pass its id to
--last-event-id.`,
		Example: `  tasker events --to-state error
  tasker events --queue --type queue.stats --json
  tasker events --task-uuid 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 --until-settled`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return c.prepare() },
		RunE:    s.onServer(c.run),
	}
	s.connectFlags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&c.tasks, "task-uuid", nil, "filter by task; the stream begins with its state; repeatable")
	f.BoolVar(&c.filter.UntilSettled, "until-settled", false, "exit when all tasks of --task-uuid are settled")
	f.StringSliceVar(&c.types, "type", nil, "filter by event type, such as task.state or case.opened; repeatable")
	f.StringSliceVar(&c.filter.Namespaces, "namespace", nil, "filter by namespace; repeatable")
	f.StringVar(&c.filter.Name, "name", "", "filter by task name: the template or the task type")
	f.StringSliceVar(&c.states, "to-state", nil, "filter by the new state of the task; repeatable")
	f.StringVar(&c.filter.Tag, "tag", "", "filter by tag")
	f.StringVar(&c.filter.CorrelationID, "correlation-id", "", "filter by correlation ID")
	f.BoolVar(&c.filter.Queue, "queue", false, "include the queue depth whenever it changes")
	f.StringVar(&c.filter.LastEventID, "last-event-id", "", "resume after the event with this id")
	aliases(cmd, map[string]string{"task": "task-uuid", "state": "to-state"})
	offer(cmd, "to-state", taskStates()...)
	return cmd
}

func (c *eventsCommand) prepare() error {
	for _, arg := range c.tasks {
		id, err := taskArg(arg)
		if err != nil {
			return err
		}
		c.filter.Tasks = append(c.filter.Tasks, id)
	}
	if c.filter.UntilSettled && len(c.filter.Tasks) == 0 {
		return usagef("--until-settled requires --task-uuid")
	}
	for _, t := range c.types {
		c.filter.Types = append(c.filter.Types, tasker.EventType(t))
	}
	for _, s := range c.states {
		c.filter.States = append(c.filter.States, tasker.TaskState(s))
	}
	return nil
}

// run ends with the first permanent error; the client reconnects and resumes on its own.
func (c *eventsCommand) run(ctx context.Context, client *tasker.Client, _ []string) error {
	for event, err := range client.Events(ctx, c.filter) {
		if err == nil {
			err = c.print(&event)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// print writes each event immediately, so that a pipe need not wait for a buffer.
func (c *eventsCommand) print(e *tasker.Event) error {
	if c.s.json {
		return c.s.printJSONLine(e)
	}
	line := fmt.Sprintf("%s  %-14s  %s", e.At.UTC().Format("2006-01-02T15:04:05.000Z"), string(e.Type), describeEvent(e))
	return c.s.printf("%s\n", strings.TrimRight(line, " "))
}

func describeEvent(e *tasker.Event) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e.TaskUUID != nil {
		add("%s %s", e.TaskUUID, qualified(e.Namespace, e.Name))
	}
	switch {
	case e.FromState != "":
		add("%s -> %s", e.FromState, e.ToState)
	case e.ToState != "":
		add("%s", e.ToState)
	}
	if e.CaseUUID != nil && *e.CaseUUID != uuid.Nil {
		add("case %s: %s, %s", e.CaseUUID, e.CaseReason, e.ResolutionStatus)
	}
	if q := e.Queue; q != nil {
		more := ""
		if q.Capped {
			more = " or more"
		}
		add("%d%s ready%s", q.Ready, more, byPriority(q.ByPriority))
	}
	if subject := inboxSubject(e); subject != "" {
		add("%s", subject)
	}
	if e.Cause != "" {
		add("(%s)", e.Cause)
	}
	return strings.Join(parts, "  ")
}

func inboxSubject(e *tasker.Event) string {
	switch {
	case e.Group != nil:
		return fmt.Sprintf("%s  %s  %s", e.Group.GroupID, e.Group.State, headline(e.Group.Title))
	case e.Redrive != nil:
		return fmt.Sprintf("%s  %s  %d of %d items", e.Redrive.RedriveUUID, e.Redrive.State, e.Redrive.Decided,
			e.Redrive.Total)
	case e.Replay != nil:
		return fmt.Sprintf("%s  %s  %s  %d offsets left", e.Replay.ReplayUUID, e.Replay.State,
			qualified(e.Namespace, e.Replay.Topic), e.Replay.Left)
	case e.Source != nil:
		return qualified(e.Namespace, e.Source.Name)
	case e.Letters != nil:
		return fmt.Sprintf("%d from %s", e.Letters.Count, qualified(e.Namespace, e.Letters.Origin))
	}
	return ""
}

func byPriority(counts map[string]int) string {
	var levels []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > 0 {
			levels = append(levels, fmt.Sprintf("%s %d", name, counts[name]))
		}
	}
	if len(levels) == 0 {
		return ""
	}
	return ": " + strings.Join(levels, ", ")
}
