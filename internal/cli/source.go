package cli

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newSource: changes need sources:admin, because a source tells this server which hosts to connect to.
func newSource(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "source",
		Short: "Manage the sources of dead letters",
		Long: `A source is a place that dead letters come from: a queue of a broker, or a program that
reports its failures over HTTP (driver http).`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newSourceAdd(s), newSourceList(s), newSourceShow(s), newSourceTest(s), newSourcePause(s, true),
		newSourcePause(s, false), newSourceRemove(s))
	return cmd
}

// newSourceAdd saves whole settings by POST /v1/sources: an omitted flag takes its default, and without --if-match
// the last writer wins. It does not connect; nodes read the source within a second. Faults exit together with 7.
func newSourceAdd(s *session) *cobra.Command {
	var req deadletters.SourceRequest
	var intake []string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a source, or replace the settings of one",
		Example: `  tasker source add billing --driver http --target 'https://billing.example/*' --max-open 100000
  tasker source add jobs --driver redis-list --url redis://redis.internal --queue jobs \
    --intake task_type=/type --intake priority=/priority --intake on_failure.write=dlq:jobs`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			var err error
			if req.Intake, err = intakeOf(intake); err != nil {
				return err
			}
			req.Name, req.Act = args[0], signed(req.Act)
			saved, err := deadletters.Of(c).SaveSource(ctx, req)
			if err != nil || s.json {
				return s.jsonOf(saved, err)
			}
			return s.printf("✓ Source %s saved\n", qualified(saved.Namespace, saved.Name))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&req.Namespace, "namespace", "default", "namespace")
	f.StringVar(&req.Driver, "driver", "http", "http for a program that reports, or the driver of a broker")
	f.StringVar(&req.URL, "url", "", "URL of the broker; its password is stored and never shown")
	f.StringVar(&req.Queue, "queue", "", "list, stream, queue or topic to read")
	f.StringVar(&req.Format, "format", "", "convention in which messages tell of their failures (default: detected)")
	f.StringArrayVar(&req.Targets, "target", nil,
		"destination that letters may be sent to; a final * matches any rest; repeatable")
	f.IntVar(&req.MaxReplays, "max-replays", 0, "park letters that were sent back that often (default 3)")
	f.StringArrayVar(&intake, "intake", nil,
		"make messages tasks: FIELD=VALUE, where a value is a constant, a JSON pointer into the payload, header:NAME or "+
			"message:FIELD; repeatable")
	f.IntVar(&req.MaxOpen, "max-open", 0, "open letters at which nothing more is captured (default: no bound)")
	f.BoolVar(&req.Paused, "paused", false, "do not read it yet")
	actFlags(cmd, &req.Act)
	return cmd
}

// newSourceList shows stored states and counts without a connection; `source test` connects. OPEN counts up to
// 10,000 letters. --json prints deadletters.SourceStatuses.
func newSourceList(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List sources and how they stand",
		Example: `  tasker source list --namespace video`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answeredList(s, "sources", s.printSources)(deadletters.Of(c).Sources(ctx, namespace))
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "", "filter by namespace")
	return cmd
}

func openCount(of *deadletters.SourceStatus) string {
	if of.OpenCapped {
		return strconv.Itoa(of.Open) + "+"
	}
	return strconv.Itoa(of.Open)
}

// URLs come without their passwords.
func (s *session) printSources(list []deadletters.SourceStatus) error {
	if len(list) == 0 {
		return s.printf("No sources.\n")
	}
	columns := []string{"SOURCE", "DRIVER", "URL", "QUEUE", "STATE", "OPEN", "TOO LARGE", "ERROR"}
	some := slices.ContainsFunc(list, func(l deadletters.SourceStatus) bool { return l.Oversized != nil })
	if !some {
		columns = slices.Delete(columns, 6, 7)
	}
	t := s.newTable(columns...)
	t.dropFirst("URL", "DRIVER")
	for i := range list {
		l := &list[i]
		cells := []string{qualified(l.Namespace, l.Name), l.Driver, l.URL, l.Queue, string(l.State), openCount(l)}
		if some && l.Oversized != nil {
			cells = append(cells, strconv.Itoa(l.Oversized.Messages))
		} else if some {
			cells = append(cells, "")
		}
		t.row(append(cells, headline(l.Error))...)
	}
	return t.flush()
}
