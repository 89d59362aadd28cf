package now

import (
	"fmt"

	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

func (p *pages) outages(r *page.Request, out *first) error {
	f := flow.OutageFilter{State: flow.OutageOpen, Limit: shownOfKind}
	if namespace := r.Namespace(); namespace != "" {
		f.Namespaces = []string{namespace}
	}
	got, err := p.flow.Outages(r.Context(), f)
	if err != nil {
		return err
	}
	for i := range got.Outages {
		o := &got.Outages[i]
		detail := fmt.Sprintf("%s with one fingerprint: %s. %s", page.Plural(o.Failures, "failure"), o.Title, probes(r, o))
		out.Needs = append(out.Needs, need{Urgency: broken, State: "halted", At: o.OpenedAt, Detail: detail, Outage: o,
			What: "The steps of " + o.Handler + " are held back: an outage", URL: "/groups/" + o.GroupID,
			Act: "See the group"})
	}
	return nil
}

func probes(r *page.Request, o *flow.Outage) string {
	text := page.Plural(o.Probes, "probe") + " so far"
	switch {
	case o.Probe != nil:
		return text + ", one is running"
	case o.NextProbeAt != nil && o.NextProbeAt.After(r.Now):
		return text + ", the next one at " + o.NextProbeAt.UTC().Format("15:04:05") + " UTC"
	}
	return text + ", the next one when a worker polls"
}

func (p *pages) closeOutage(r *page.Request) (page.Done, error) {
	id, err := r.UUID("outage")
	if err != nil {
		return page.Done{}, err
	}
	_, err = p.flow.CloseOutage(r.Context(), id, flow.OutageCloseRequest{ClosedBy: r.Name, Reason: r.Form("reason"),
		IfMatch: r.Form("etag")})
	return page.Done{To: "/", Say: "The outage is closed: the steps of its route are claimed again."}, err
}
