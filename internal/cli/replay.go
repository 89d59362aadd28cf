package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newReplay: a replay runs in the node that has the turn, and continues when this command or the server ends.
func newReplay(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Read a range of a topic again, into the inbox or as tasks",
		Long: `A replay reads a range of a topic again, from the broker of a source that keeps messages
(Kafka): into the inbox of the source, or as tasks. The range is written down when the
replay is made: what is sent to the topic later is not included. No consumer's position
changes. A message that is a letter of the source already, or of which the same task was
made, is counted as known.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newReplayPlan(s), newReplayStart(s), newReplayList(s), newReplayShow(s),
		newReplayAct(s, deadletters.PauseRedrive, "Pause a replay"),
		newReplayAct(s, deadletters.ResumeRedrive, "Continue a replay that is paused or has failed"),
		newReplayAct(s, deadletters.CancelRedrive, "Cancel a replay; what was stored stays"))
	return cmd
}

type replayFlags struct {
	req           deadletters.TopicReplayRequest
	since, before string
	from, to      int64
	key           string
	headers       []string
	intake        []string
}

func (r *replayFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.req.Namespace, "namespace", "default", "namespace of the source")
	f.StringVar(&r.req.Topic, "topic", "", "topic: the queue of the source (default), or one that its targets allow")
	f.StringVar(&r.req.Into, "into", "", "inbox or tasks (default: tasks where there is an intake)")
	f.StringArrayVar(&r.intake, "intake", nil,
		"which tasks messages become: FIELD=VALUE, as in source add; repeatable (default: the intake of the source)")
	f.StringVar(&r.req.Repeat, "repeat", "", "a name: make tasks again, once for each name")
	f.StringVar(&r.since, "since", "", "from the first message as new as this: a time, or an age such as 24h")
	f.StringVar(&r.before, "before", "", "up to the first message as new as this: a time, or an age such as 1h")
	f.Int64Var(&r.from, "from-offset", 0, "first offset (default: the first one that the topic has)")
	f.Int64Var(&r.to, "to-offset", 0, "offset to end before (default: the end of the topic now)")
	f.Int32SliceVar(&r.req.Partitions, "partition", nil, "partition; repeatable (default: all)")
	f.StringVar(&r.key, "key", "", "only messages with this key")
	f.StringArrayVar(&r.headers, "header", nil, "only messages with this header: NAME=VALUE; repeatable")
	f.Float64Var(&r.req.Rate, "rate", 0, "messages a second (default: no limit)")
	choose(cmd, "into", "inbox", "tasks")
}

func (r *replayFlags) prepare(s *session, cmd *cobra.Command) (err error) {
	r.req.Since, r.req.Before, err = s.timeFlagsNamed("--since", r.since, "--before", r.before)
	if err != nil {
		return err
	}
	if r.req.Intake, err = intakeOf(r.intake); err != nil {
		return err
	}
	if cmd.Flags().Changed("from-offset") {
		r.req.FromOffset = &r.from
	}
	if cmd.Flags().Changed("to-offset") {
		r.req.ToOffset = &r.to
	}
	if cmd.Flags().Changed("key") {
		r.req.Key = &r.key
	}
	for _, h := range r.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return usagef("--header is written NAME=VALUE, not %q", h)
		}
		r.req.Headers = append(r.req.Headers, deadletters.NewHeader(name, []byte(value)))
	}
	r.req.Act = signed(r.req.Act)
	return nil
}

// newReplayPlan takes the flags of `replay start` and sends POST /v1/replays/preview, which stores nothing.
func newReplayPlan(s *session) *cobra.Command {
	var flags replayFlags
	cmd := &cobra.Command{
		Use:   "plan SOURCE",
		Short: "Show what a replay would do, and change nothing",
		Example: `  tasker replay plan orders --topic orders --since 24h
  tasker replay plan orders --key customer-7 --intake task_type=header:event_type`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return flags.prepare(s, cmd) },
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			flags.req.Source = args[0]
			return s.planReplay(ctx, c, flags.req)
		}),
	}
	flags.add(cmd)
	actFlags(cmd, &flags.req.Act)
	return cmd
}

// newReplayStart creates a replay for a source, or starts a draft by UUID.
func newReplayStart(s *session) *cobra.Command {
	var flags replayFlags
	var dryRun, draft bool
	cmd := &cobra.Command{
		Use:   "start SOURCE | REPLAY_UUID",
		Short: "Read a range of a topic again, or start a draft",
		Example: `  tasker replay start orders --topic orders --since 24h --rate 500
  tasker replay start orders --from-offset 1200 --to-offset 1300 --partition 3 --into inbox
  tasker replay start orders --intake task_type=header:event_type --repeat after-the-fix`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if _, err := uuid.Parse(args[0]); err == nil {
				if dryRun || draft {
					return usagef("a replay that exists takes neither --dry-run nor --draft")
				}
				if name := setFlag(cmd, new(replayFlags).add); name != "" {
					return usagef("a replay that exists has its range and its rate: leave out --%s", name)
				}
			}
			flags.req.Start = !draft
			return flags.prepare(s, cmd)
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			if id, err := uuid.Parse(args[0]); err == nil {
				return s.actOnReplay(ctx, c, id, deadletters.StartRedrive, flags.req.Act)
			}
			flags.req.Source = args[0]
			if dryRun {
				return s.planReplay(ctx, c, flags.req)
			}
			return answered(s, s.printReplay)(deadletters.Of(c).CreateReplay(ctx, flags.req))
		}),
	}
	flags.add(cmd)
	actFlags(cmd, &flags.req.Act)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done and change nothing, as replay plan does")
	cmd.Flags().BoolVar(&draft, "draft", false, "write the range down and do not start")
	return cmd
}

// newReplayAct builds `replay pause`, `resume` and `cancel`. In a wrong state it exits with 4, wrong_state.
func newReplayAct(s *session, action deadletters.RedriveAction, short string) *cobra.Command {
	var act deadletters.Act
	cmd := &cobra.Command{
		Use:     string(action) + " REPLAY_UUID",
		Short:   short,
		Example: "  tasker replay " + string(action) + " 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70",
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(with(replayArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			return s.actOnReplay(ctx, c, id, action, act)
		})),
	}
	actFlags(cmd, &act)
	return cmd
}

func (s *session) actOnReplay(ctx context.Context, c *tasker.Client, id uuid.UUID, action deadletters.RedriveAction,
	act deadletters.Act,
) error {
	return answered(s, s.printReplay)(deadletters.Of(c).ActOnReplay(ctx, id,
		deadletters.RedriveAct{Action: action, Act: signed(act)}))
}

func newReplayShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "show REPLAY_UUID",
		Short:   "Show a replay and its progress",
		Example: `  tasker replay show 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(replayArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			return answered(s, s.printReplay)(deadletters.Of(c).Replay(ctx, id))
		})),
	}
}

// newReplayList: --json prints a deadletters.ReplayPage.
func newReplayList(s *session) *cobra.Command {
	var filter deadletters.ReplayFilter
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List replays, newest first",
		Example: `  tasker replay list --namespace video`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answered(s, s.printReplays)(deadletters.Of(c).Replays(ctx, filter))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&filter.Namespace, "namespace", "", "filter by namespace")
	pageFlag(cmd, &filter.Limit, 50, "replays per page")
	f.StringVar(&filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	return cmd
}

func (s *session) printReplays(page *deadletters.ReplayPage) error {
	t := s.newList("No replays.", "REPLAY", "SOURCE", "TOPIC", "INTO", "STATE", "LEFT", "CREATED", "ACTOR", "REASON")
	t.dropFirst("ACTOR", "TOPIC", "INTO")
	for i := range page.Replays {
		r := &page.Replays[i]
		t.row(r.ReplayUUID.String(), qualified(r.Namespace, r.Source), r.Topic, r.Into, string(r.State),
			strconv.FormatInt(r.Left(), 10), s.ago(r.CreatedAt), byWhom(r.Actor, r.KeyName), headline(r.Reason))
	}
	return t.flushPage(page.NextCursor)
}

func (s *session) printReplay(r *deadletters.TopicReplay) error {
	f := s.newFields("  ")
	f.add("Replay", r.ReplayUUID.String())
	f.add("Source", qualified(r.Namespace, r.Source))
	f.add("Topic", r.Topic)
	f.add("Into", r.Into)
	f.add("State", string(r.State))
	f.add("Why", r.Why)
	f.add("Range", rangeLine(r.Parts))
	f.add("Left", strconv.FormatInt(r.Left(), 10)+" offsets")
	c := r.Counts
	f.add("Results", fmt.Sprintf("%d letters, %d tasks, %d known, %d gone", c.Letters, c.Tasks, c.Known, c.Gone))
	f.add("Started", s.stampAgo(r.StartedAt))
	f.add("Ended", s.stampAgo(r.EndedAt))
	f.add("Actor", byWhom(r.Actor, r.KeyName))
	f.add("Reason", r.Reason)
	return s.write([]byte(f.String()))
}

// rangeLine describes up to eight partitions, each as "3: 1200 to 1299".
func rangeLine(parts []deadletters.ReplayPart) string {
	var out []string
	for _, p := range parts[:min(len(parts), 8)] {
		out = append(out, fmt.Sprintf("%d: %d to %d", p.Partition, p.From, p.To-1))
	}
	if len(parts) > 8 {
		out = append(out, fmt.Sprintf("and %d partitions more", len(parts)-8))
	}
	return strings.Join(out, ", ")
}

func (s *session) planReplay(ctx context.Context, c *tasker.Client, req deadletters.TopicReplayRequest) error {
	p, err := deadletters.Of(c).PreviewReplay(ctx, req)
	if err != nil || s.json {
		return s.jsonOf(p, err)
	}
	f := s.newFields("  ")
	f.add("Topic", p.Topic)
	f.add("Into", p.Into)
	f.add("Range", rangeLine(p.Parts))
	f.add("Messages", fmt.Sprintf("up to %d", p.Messages))
	looked := fmt.Sprintf("%d of %d", p.Selected, p.Scanned)
	if !p.Whole {
		looked += " that were looked at; there are more"
	}
	f.add("Selected", looked)
	f.add("First", s.stampAgo(p.FirstAt))
	f.add("Last", s.stampAgo(p.LastAt))
	if err := s.write([]byte(f.String())); err != nil || len(p.Samples) == 0 {
		return err
	}
	if err := s.printf("\nSamples:\n\n"); err != nil {
		return err
	}
	t := s.newTable("PARTITION", "OFFSET", "TIME", "KEY", "BECOMES")
	for i := range p.Samples {
		m := &p.Samples[i]
		at := ""
		if m.At != nil {
			at = m.At.UTC().Format(time.RFC3339)
		}
		t.row(strconv.Itoa(int(m.Partition)), strconv.FormatInt(m.Offset, 10), at, headline(m.Key), becomes(m))
	}
	return t.flush()
}

func becomes(m *deadletters.ReplaySample) string {
	switch {
	case m.Known:
		return "known: it is a letter already"
	case m.Task != nil:
		return "task " + m.Task.TaskType + m.Task.Template
	case m.Refusal != nil:
		return "letter: " + headline(m.Refusal.Reason)
	case m.ErrorType != "":
		return "letter: " + headline(m.ErrorType)
	}
	return "letter"
}
