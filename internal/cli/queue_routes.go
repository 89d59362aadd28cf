package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

// newQueueRoutes reads GET /v1/routes. --json prints a queueapi.RoutePage.
func newQueueRoutes(s *session) *cobra.Command {
	var (
		filter queueapi.RouteFilter
		show   string
	)
	cmd := &cobra.Command{
		Use:   "routes",
		Short: "List the queues by route, and why nothing moves",
		Long: `List the queues by route: a namespace, a handler, and the capabilities that a worker
must have. Routes that no worker serves although steps wait come first, then the
longest waits. The numbers of steps may be some seconds old.`,
		Example: `  tasker queue routes --show stuck`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			filter.Show = queueapi.RouteShow(show)
			return answered(s, s.printRoutes)(queueapi.Of(c).Routes(ctx, filter))
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&filter.Namespaces, "namespace", nil, "filter by namespace; repeatable")
	f.StringVar(&show, "show", "", "waiting: steps wait; stuck: and no worker takes any")
	f.StringVar(&filter.Cursor, "cursor", "", "continue at this cursor of the previous page")
	pageFlag(cmd, &filter.Limit, 50, "number of routes")
	offer(cmd, "show", queueapi.ShowWaiting, queueapi.ShowStuck)
	return cmd
}

// printRoutes adds why the queue of a route does not move.
func (s *session) printRoutes(page *queueapi.RoutePage) error {
	if len(page.Routes) == 0 {
		return s.printf("No routes.\n")
	}
	t := s.newTable("ROUTE", "WAITING", "OLDEST", "P50", "P95", "RUNNING", "WORKERS", "PER MINUTE")
	var stuck []string
	for i := range page.Routes {
		r := &page.Routes[i]
		name := routeName(r)
		t.row(name, strconv.Itoa(r.Depth), ageText(r.OldestAgeSeconds), ageText(r.P50AgeSeconds), ageText(r.P95AgeSeconds),
			strconv.Itoa(r.Assigned+r.Executing), strconv.Itoa(r.Workers), strconv.Itoa(r.ClaimedPerMinute))
		if r.Why != "" {
			stuck = append(stuck, name+": "+r.Why)
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	for i, why := range stuck {
		format := "%s\n"
		if i == 0 {
			format = "\n%s\n"
		}
		if err := s.printf(format, why); err != nil {
			return err
		}
	}
	return s.nextCursor(page.NextCursor)
}

func routeName(r *queueapi.Route) string {
	name := r.Namespace + "/" + r.Handler
	if len(r.Capabilities) > 0 {
		name += " [" + strings.Join(r.Capabilities, ",") + "]"
	}
	return name
}
