package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
)

func newOutage(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "outage",
		Short: "Show and close outages: routes that are held back because so much fails there",
		Long: `Show and close outages. An outage opens when many attempts on a route fail with one
fingerprint within a short time (engine.outage_breaker). Its route is held back then; one
step at a time is let through as a probe, and the first that succeeds closes the outage.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newOutageList(s), newOutageShow(s), newOutageClose(s))
	return cmd
}

// newOutageList reads GET /v1/outages. --json prints a flow.OutagePage.
func newOutageList(s *session) *cobra.Command {
	var filter flow.OutageFilter
	var state string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List outages, the newest first",
		Example: `  tasker outage list --state open`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			filter.State = flow.OutageState(state)
			return answered(s, s.printOutages)(flow.Of(c).Outages(ctx, filter))
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&filter.Namespaces, "namespace", nil, "filter by namespace; repeatable")
	f.StringVar(&state, "state", "", "filter by state: open or closed")
	f.StringVar(&filter.Cursor, "cursor", "", "continue at this cursor of the previous page")
	pageFlag(cmd, &filter.Limit, 50, "number of outages")
	offer(cmd, "state", flow.OutageOpen, flow.OutageClosed)
	return cmd
}

func (s *session) printOutages(page *flow.OutagePage) error {
	t := s.newList("There is no outage.", "OUTAGE", "STATE", "ROUTE", "OPENED", "NEXT PROBE", "FINGERPRINT")
	for i := range page.Outages {
		o := &page.Outages[i]
		t.row(o.OutageUUID.String(), string(o.State), outageRoute(o), stamp(&o.OpenedAt), nextProbe(o), o.Title)
	}
	return t.flushPage(page.NextCursor)
}

func nextProbe(o *flow.Outage) string {
	switch {
	case o.Probe != nil:
		return "running"
	case o.NextProbeAt != nil:
		return stamp(o.NextProbeAt)
	}
	return ""
}

func outageRoute(o *flow.Outage) string {
	text := qualified(o.Namespace, o.Handler)
	if len(o.Capabilities) > 0 {
		text += " [" + strings.Join(o.Capabilities, ",") + "]"
	}
	return text
}

// newOutageShow reads GET /v1/outages/{outage_uuid}. --json prints a flow.Outage.
func newOutageShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "show UUID",
		Short:   "Show an outage: what fails, since when, and when the next step is let through",
		Example: `  tasker outage show 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(outageArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			o, err := flow.Of(c).Outage(ctx, id)
			if err != nil || s.json {
				return s.jsonOf(o, err)
			}
			return s.write([]byte(s.outageFields(o)))
		})),
	}
}

func (s *session) outageFields(o *flow.Outage) string {
	f := s.newFields("  ")
	f.add("Outage", o.OutageUUID.String())
	f.add("State", string(o.State))
	f.add("Route", outageRoute(o))
	f.add("Fingerprint", o.Title)
	f.add("Group", o.GroupID+" (tasker inbox show "+o.GroupID+")")
	f.add("Opened", fmt.Sprintf("%s, by %d failures since %s", stamp(&o.OpenedAt), o.Failures, stamp(&o.Since)))
	if o.Spared > 0 {
		f.add("Not charged", fmt.Sprintf("%d attempts that failed since", o.Spared))
	}
	probes := fmt.Sprint(o.Probes)
	if o.LastProbe != "" {
		probes += ", the last one " + o.LastProbe + " at " + stamp(o.LastProbeAt)
	}
	f.add("Probes", probes)
	if o.Probe != nil {
		f.add("Probe", fmt.Sprintf("running since %s: a step of task %s", stamp(&o.Probe.Since), o.Probe.TaskUUID))
	}
	f.add("Next probe", stamp(o.NextProbeAt))
	if o.ClosedAt != nil {
		f.add("Closed", fmt.Sprintf("%s by %s: %s", stamp(o.ClosedAt), o.ClosedBy, o.CloseReason))
	}
	f.add("ETag", o.ETag)
	return f.String()
}

// newOutageClose sends POST /v1/outages/{outage_uuid}/close. --json prints a flow.Outage.
func newOutageClose(s *session) *cobra.Command {
	var req flow.OutageCloseRequest
	cmd := &cobra.Command{
		Use:     "close UUID",
		Short:   "Close an outage: its route is served again at once",
		Example: `  tasker outage close 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 --reason 'it is repaired'`,
		Long: `Close an outage without waiting for a probe that succeeds. What waits is claimed in its
order. If the cause is still there, a new outage opens after as many failures as before.`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(with(outageArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			req.ClosedBy = actor(req.ClosedBy)
			o, err := flow.Of(c).CloseOutage(ctx, id, req)
			if err != nil || s.json {
				return s.jsonOf(o, err)
			}
			return s.printf("✓ The outage of %s is closed; it was opened at %s\n", outageRoute(o), stamp(&o.OpenedAt))
		})),
	}
	f := cmd.Flags()
	f.StringVar(&req.ClosedBy, "actor", "", "name recorded with the act (default: the current user)")
	f.StringVar(&req.Reason, "reason", "", "reason for the act; kept with the outage")
	f.StringVar(&req.IfMatch, "if-match", "", "close it only if its ETag is still this one")
	return cmd
}
