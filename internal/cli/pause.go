package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
)

// `resume` ends what `pause` begins.
func newPause(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Hold back the steps of a handler, a route, a template or a namespace",
		Long: `Hold steps back. Nothing is lost: running steps go on, tasks are accepted as ever, and
their steps wait until "tasker resume", or until the time of --until. "tasker task
explain" tells of a waiting step who paused it, when and why.`,
	}
	s.connectFlags(cmd)
	for _, k := range pauseKinds {
		cmd.AddCommand(newPauseOf(s, k))
	}
	cmd.AddCommand(newPauseList(s))
	return cmd
}

func newResume(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Resume a handler, a route, a template or a namespace that is paused",
		Long: `End a pause. What waited is claimed in its order. What a wider pause covers, such as a
handler of a namespace that is paused too, stays paused.`,
	}
	s.connectFlags(cmd)
	for _, k := range pauseKinds {
		cmd.AddCommand(newResumeOf(s, k))
	}
	return cmd
}

type pauseKind struct {
	kind      flow.Kind
	arg, what string
}

var pauseKinds = []pauseKind{
	{flow.Handler, "[NAMESPACE/]HANDLER", "a handler, whatever capabilities its steps need"},
	{flow.Route, "[NAMESPACE/]HANDLER", "the steps of a handler that need exactly some capabilities, or none"},
	{flow.Template, "[NAMESPACE/]TEMPLATE", "the tasks of all versions of a template"},
	{flow.Namespace, "NAMESPACE", "all handlers of a namespace"},
}

func (k pauseKind) target(arg string, capabilities []string) flow.Target {
	t := flow.Target{Kind: k.kind, Capabilities: capabilities}
	namespace, name, found := strings.Cut(arg, "/")
	switch {
	case k.kind == flow.Namespace:
		t.Namespace = arg
		return t
	case !found:
		namespace, name = "", arg
	}
	t.Namespace = namespace
	if k.kind == flow.Template {
		t.Template = name
	} else {
		t.Handler = name
	}
	return t
}

func (k pauseKind) capabilityFlag(cmd *cobra.Command, capabilities *[]string) {
	if k.kind == flow.Route {
		cmd.Flags().StringSliceVar(capabilities, "capability", nil, "capability that the steps need; repeatable")
	}
}

// newPauseOf sends POST /v1/pauses. --json prints a flow.Pause.
func newPauseOf(s *session, k pauseKind) *cobra.Command {
	var req flow.PauseRequest
	var capabilities []string
	var until string
	cmd := &cobra.Command{
		Use:   string(k.kind) + " " + k.arg,
		Short: "Pause " + k.what,
		Long: `Pause ` + k.what + `. It need not exist yet. A pause of what is paused already
changes the reason, the name and the end. --until takes a time (RFC 3339) or how long
from now, such as 30m.`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			req.Target, req.PausedBy = k.target(args[0], capabilities), actor(req.PausedBy)
			if until != "" {
				at, err := s.pauseEnd(until)
				if err != nil {
					return err
				}
				req.Until = &at
			}
			p, err := flow.Of(c).Pause(ctx, req)
			if err != nil || s.json {
				return s.jsonOf(p, err)
			}
			end := "; resume it with \"tasker resume\""
			if p.Until != nil {
				end = " until " + stamp(p.Until)
			}
			return s.printf("✓ The %s is paused%s\n", targetText(p.Target), end)
		}),
	}
	k.capabilityFlag(cmd, &capabilities)
	f := cmd.Flags()
	f.StringVar(&req.PausedBy, "actor", "", "name recorded with the act (default: the current user)")
	f.StringVar(&req.Reason, "reason", "", "reason; shown with every step that waits")
	f.StringVar(&until, "until", "", "when the pause ends automatically: a time, or how long from now")
	return cmd
}

func (s *session) pauseEnd(text string) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return s.Now().Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usagef("--until %q is neither a time such as 2026-05-01T12:00:00Z nor a duration such as 30m", text)
	}
	return at, nil
}

// newResumeOf sends POST /v1/pauses/resume. --json prints a flow.Pause.
func newResumeOf(s *session, k pauseKind) *cobra.Command {
	var req flow.ResumePausedRequest
	var capabilities []string
	cmd := &cobra.Command{
		Use:   string(k.kind) + " " + k.arg,
		Short: "Resume " + k.what,
		Args:  cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			req.Target, req.ResumedBy = k.target(args[0], capabilities), actor(req.ResumedBy)
			p, err := flow.Of(c).ResumePaused(ctx, req)
			if err != nil || s.json {
				return s.jsonOf(p, err)
			}
			return s.printf("✓ The %s is resumed; it was paused at %s by %s\n", targetText(p.Target),
				stamp(&p.PausedAt), p.PausedBy)
		}),
	}
	k.capabilityFlag(cmd, &capabilities)
	cmd.Flags().StringVar(&req.ResumedBy, "actor", "", "name recorded with the act (default: the current user)")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}

// newPauseList reads GET /v1/pauses. --json prints a flow.PausePage.
func newPauseList(s *session) *cobra.Command {
	var filter flow.PauseFilter
	var kind string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what is paused, by whom, why, and until when",
		Example: `  tasker pause list --namespace shop`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			filter.Kind = flow.Kind(kind)
			return answered(s, s.printPauses)(flow.Of(c).Pauses(ctx, filter))
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&filter.Namespaces, "namespace", nil, "filter by namespace; repeatable")
	f.StringVar(&kind, "kind", "", "filter by kind: route, handler, template or namespace")
	f.StringVar(&filter.Cursor, "cursor", "", "continue at this cursor of the previous page")
	pageFlag(cmd, &filter.Limit, 50, "number of pauses")
	offer(cmd, "kind", flow.Route, flow.Handler, flow.Template, flow.Namespace)
	return cmd
}

func (s *session) printPauses(page *flow.PausePage) error {
	t := s.newList("Nothing is paused.", "PAUSED", "SINCE", "UNTIL", "BY", "REASON")
	for i := range page.Pauses {
		p := &page.Pauses[i]
		until := "resumed"
		if p.Until != nil {
			until = stamp(p.Until)
		}
		reason, _, _ := strings.Cut(p.Reason, "\n")
		t.row(targetText(p.Target), stamp(&p.PausedAt), until, p.PausedBy, reason)
	}
	return t.flushPage(page.NextCursor)
}

func targetText(t flow.Target) string {
	text := string(t.Kind) + " " + t.Namespace
	switch t.Kind {
	case flow.Namespace:
		return text
	case flow.Template:
		return text + "/" + t.Template
	}
	text += "/" + t.Handler
	if len(t.Capabilities) > 0 {
		text += " [" + strings.Join(t.Capabilities, ",") + "]"
	}
	return text
}
