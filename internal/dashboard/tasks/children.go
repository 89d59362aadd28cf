package tasks

import (
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/operate"
)

const (
	// firstChildren is the number of child tasks shown per step; the API has all.
	firstChildren = 10
	// parentsShown is the number of steps with child tasks shown.
	parentsShown = 10
)

// firstChildren adds the first child tasks of steps, those in error if there are any.
func (p *pages) firstChildren(r *page.Request, rows []stepRow) error {
	shown := 0
	for i := range rows {
		c := rows[i].Children
		if c == nil || shown == parentsShown {
			continue
		}
		shown++
		f := operate.ChildFilter{Limit: firstChildren}
		if c.Errors > 0 {
			f.State = operate.ChildError
		}
		list, err := p.cases.StepChildren(r.Context(), rows[i].TaskUUID, rows[i].StepUUID, f)
		if err != nil {
			return err
		}
		rows[i].First = list.Children
	}
	return nil
}
