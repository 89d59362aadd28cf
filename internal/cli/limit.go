package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
)

func newLimit(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limit",
		Short: "Limit how many steps of a handler run at once, or begin in a time",
		Long: `Limit the steps of a handler, or of one of its routes, on all nodes together. Running steps
go on, and count; no further one begins until there is room. What waits keeps its place.
"tasker task explain" tells of a waiting step which limit holds it back.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newLimitSet(s), newLimitList(s), newLimitShow(s), newLimitDelete(s))
	return cmd
}

type limitTarget struct {
	route        bool
	capabilities []string
}

func (t *limitTarget) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.route, "route", false, "only steps that need exactly the capabilities of --capability, or none")
	cmd.Flags().StringSliceVar(&t.capabilities, "capability", nil, "capability of the route; repeatable")
}

func (t *limitTarget) of(arg string) (flow.LimitTarget, error) {
	out := flow.LimitTarget{Kind: flow.Handler, Handler: arg, Capabilities: t.capabilities}
	if namespace, handler, found := strings.Cut(arg, "/"); found {
		out.Namespace, out.Handler = namespace, handler
	}
	if t.route {
		out.Kind = flow.Route
	} else if len(t.capabilities) > 0 {
		return out, usagef("--capability belongs to --route")
	}
	return out, nil
}

// newLimitSet sends POST /v1/limits. --json prints a flow.Limit.
func newLimitSet(s *session) *cobra.Command {
	var req flow.LimitRequest
	var target limitTarget
	var rate string
	var burst int
	cmd := &cobra.Command{
		Use:     "set [NAMESPACE/]HANDLER",
		Short:   "Set or change the limit of a handler or a route",
		Example: `  tasker limit set shop/charge --concurrency 5 --rate 100/m --reason 'their API is slow'`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) (err error) {
			if req.LimitTarget, err = target.of(args[0]); err != nil {
				return err
			}
			if req.Rate, err = rateOf(rate, burst); err != nil {
				return err
			}
			req.SetBy = actor(req.SetBy)
			l, err := flow.Of(c).SetLimit(ctx, req)
			if err != nil || s.json {
				return s.jsonOf(l, err)
			}
			return s.printf("✓ The %s is limited to %s\n", limitText(l.LimitTarget), boundsText(l))
		}),
	}
	target.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&req.Concurrency, "concurrency", 0, "steps at once")
	f.StringVar(&rate, "rate", "", "steps that begin in a time, such as 10/s, 100/m or 5/30s")
	f.IntVar(&burst, "burst", 0, "steps at once after a pause (default: the number of --rate)")
	f.StringVar(&req.SetBy, "actor", "", "name recorded with the act (default: the current user)")
	f.StringVar(&req.Reason, "reason", "", "reason; shown with every step that waits")
	return cmd
}

func rateOf(text string, burst int) (*flow.Rate, error) {
	if text == "" {
		if burst != 0 {
			return nil, usagef("--burst belongs to --rate")
		}
		return nil, nil
	}
	number, per, found := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	if per != "" && strings.Trim(per, "dhms") == "" {
		per = "1" + per
	}
	if per == "1d" {
		per = "24h"
	}
	d, err2 := time.ParseDuration(per)
	if !found || err != nil || err2 != nil {
		return nil, usagef("--rate %q is not a number of steps in a time, such as 10/s or 100/5m", text)
	}
	return &flow.Rate{Limit: n, Period: d.Seconds(), Burst: burst}, nil
}

// newLimitList reads GET /v1/limits. --json prints a flow.LimitPage.
func newLimitList(s *session) *cobra.Command {
	var filter flow.LimitFilter
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the limits of operators, and how many steps run under them",
		Example: `  tasker limit list --namespace shop`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answered(s, s.printLimits)(flow.Of(c).Limits(ctx, filter))
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&filter.Namespaces, "namespace", nil, "filter by namespace; repeatable")
	f.StringVar(&filter.Handler, "handler", "", "filter by handler")
	f.StringVar(&filter.Cursor, "cursor", "", "continue at this cursor of the previous page")
	pageFlag(cmd, &filter.Limit, 50, "number of limits")
	return cmd
}

func (s *session) printLimits(page *flow.LimitPage) error {
	t := s.newList("No operator has set a limit.", "LIMITED", "TO", "RUNNING", "BY", "REASON")
	for i := range page.Limits {
		l := &page.Limits[i]
		running := "-"
		if l.Concurrency > 0 {
			running = strconv.Itoa(l.Running)
		}
		reason, _, _ := strings.Cut(l.Reason, "\n")
		t.row(limitText(l.LimitTarget), boundsText(l), running, l.SetBy, reason)
	}
	return t.flushPage(page.NextCursor)
}

// newLimitShow reads GET /v1/limits. --json prints a flow.Limit.
func newLimitShow(s *session) *cobra.Command {
	var target limitTarget
	cmd := &cobra.Command{
		Use:     "show [NAMESPACE/]HANDLER",
		Short:   "Show the limit of a handler or a route",
		Example: `  tasker limit show shop/charge`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			t, err := target.of(args[0])
			if err != nil {
				return err
			}
			t.Namespace = cmp.Or(t.Namespace, "default")
			l, err := findLimit(ctx, c, t)
			if err != nil || s.json {
				return s.jsonOf(l, err)
			}
			text := fmt.Sprintf("The %s is limited to %s by %s, since %s", limitText(l.LimitTarget), boundsText(l), l.SetBy,
				stamp(&l.SetAt))
			if l.Reason != "" {
				text += ": " + l.Reason
			}
			if err := s.printf("%s\n", text); err != nil {
				return err
			}
			if l.Concurrency > 0 {
				err = s.printf("%d of %d run\n", l.Running, l.Concurrency)
			}
			if err == nil && l.NextAt != nil {
				err = s.printf("The next step may begin at %s\n", stamp(l.NextAt))
			}
			return err
		}),
	}
	target.flags(cmd)
	return cmd
}

func findLimit(ctx context.Context, c *tasker.Client, t flow.LimitTarget) (*flow.Limit, error) {
	filter := flow.LimitFilter{Namespaces: []string{t.Namespace}, Kind: t.Kind, Handler: t.Handler}
	for {
		page, err := flow.Of(c).Limits(ctx, filter)
		if err != nil {
			return nil, err
		}
		for i := range page.Limits {
			if limitText(page.Limits[i].LimitTarget) == limitText(t) {
				return &page.Limits[i], nil
			}
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return nil, &tasker.Error{Code: tasker.CodeNotFound, Message: "the " + limitText(t) + " has no limit of an operator"}
		}
	}
}

// newLimitDelete sends POST /v1/limits/delete. --json prints a flow.Limit.
func newLimitDelete(s *session) *cobra.Command {
	var req flow.DeleteLimitRequest
	var target limitTarget
	cmd := &cobra.Command{
		Use:     "delete [NAMESPACE/]HANDLER",
		Short:   "Delete the limit of a handler or a route",
		Example: `  tasker limit delete shop/charge`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) (err error) {
			if req.LimitTarget, err = target.of(args[0]); err != nil {
				return err
			}
			req.DeletedBy = actor(req.DeletedBy)
			l, err := flow.Of(c).DeleteLimit(ctx, req)
			if err != nil || s.json {
				return s.jsonOf(l, err)
			}
			return s.printf("✓ The %s has no limit any more; it was %s\n", limitText(l.LimitTarget), boundsText(l))
		}),
	}
	target.flags(cmd)
	cmd.Flags().StringVar(&req.DeletedBy, "actor", "", "name recorded with the act (default: the current user)")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}

func limitText(t flow.LimitTarget) string {
	text := targetText(flow.Target{Kind: t.Kind, Namespace: t.Namespace, Handler: t.Handler, Capabilities: t.Capabilities})
	if t.Kind == flow.Route && len(t.Capabilities) == 0 {
		text += " []"
	}
	return text
}

func boundsText(l *flow.Limit) string {
	var parts []string
	if l.Concurrency > 0 {
		parts = append(parts, strconv.Itoa(l.Concurrency)+" at once")
	}
	if r := l.Rate; r != nil {
		text := fmt.Sprintf("%d per %s", r.Limit, time.Duration(r.Period*float64(time.Second)))
		if r.Burst != r.Limit {
			text += fmt.Sprintf(" with bursts of %d", r.Burst)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
