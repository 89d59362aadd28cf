package now

import (
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/waits"
)

func (p *pages) approvals(r *page.Request, out *first) error {
	f := waits.ApprovalFilter{Limit: shownOfKind}
	if namespace := r.Namespace(); namespace != "" {
		f.Namespaces = []string{namespace}
	}
	got, err := p.waits.Approvals(r.Context(), f)
	if err != nil {
		return err
	}
	for i := range got.Approvals {
		a := &got.Approvals[i]
		n := need{Urgency: due, State: "waiting", What: a.Approval, URL: "/tasks/" + a.TaskUUID.String(), Act: "Decide",
			At: a.Since, Detail: "Step " + a.Step + " of " + a.Template + " waits for an approval"}
		if a.Until != nil {
			n.Detail += ", until " + a.Until.UTC().Format("2006-01-02 15:04") + " UTC"
		}
		out.Needs = append(out.Needs, n)
	}
	if got.NextCursor != "" {
		out.Needs = append(out.Needs, need{Urgency: due, State: "waiting", What: "More steps wait for an approval",
			URL: "/tasks", Act: "See the tasks"})
	}
	return nil
}
