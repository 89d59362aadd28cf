package tasks

import (
	"strconv"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/operate"
)

type caseList struct {
	Cases    []operate.Case
	Pager    page.Pager
	Tabs     []page.Tab
	Filtered bool
}

// casesPast bounds the skipped cases: the API counts from the beginning of the list.
const (
	casesOfPage = 50
	casesPast   = 10_000
)

// listCases has the number of skipped cases as cursor, like the API.
func (p *pages) listCases(r *page.Request, cursor string) (page.List[operate.Case], error) {
	var none page.List[operate.Case]
	filter := operate.CaseFilter{Namespace: r.Namespace(), Reason: tasker.CaseReason(r.Query("reason")),
		TaskName: r.Query("name"), Limit: casesOfPage, CaseFailureFilter: operate.CaseFailureFilter{
			FailedStep: r.Query("step"), Handler: r.Query("handler"), ErrorMessage: r.Query("text")}}
	switch status := r.Query("status"); status {
	case "":
		filter.ResolutionStatus = tasker.CasePending
	case "all":
	default:
		filter.ResolutionStatus = tasker.CaseResolution(status)
	}
	if cursor != "" {
		n, err := strconv.Atoi(cursor)
		if err != nil || n < 0 || n > casesPast {
			return none, page.BadField("cursor", "is not a cursor of this list")
		}
		filter.Offset = n
	}
	got, err := p.cases.Cases(r.Context(), filter)
	if err != nil {
		return none, err
	}
	out := page.List[operate.Case]{Items: got}
	if next := filter.Offset + casesOfPage; len(got) == casesOfPage && next <= casesPast {
		out.Next = strconv.Itoa(next)
	}
	return out, nil
}

func (p *pages) showCases(r *page.Request, of page.List[operate.Case]) (caseList, error) {
	out := caseList{Cases: of.Items, Pager: of.Pager(r)}
	for _, t := range [][2]string{{"Pending", ""}, {"Resolved", "manually_resolved"}, {"Given up", "permanently_failed"},
		{"Cancelled", "cancelled"}, {"All", "all"}} {
		out.Tabs = append(out.Tabs, page.Tab{Title: t[0], URL: r.URL("status", t[1]), Here: r.Query("status") == t[1]})
	}
	for _, name := range []string{"name", "text", "handler", "step", "reason", "namespace", "status"} {
		out.Filtered = out.Filtered || r.Query(name) != ""
	}
	return out, nil
}

func caseRecord(c operate.Case) []string {
	return []string{c.CaseUUID.String(), c.TaskUUID.String(), c.Namespace, c.TaskName, string(c.ResolutionStatus),
		string(c.Reason), c.FailedStep, c.Handler, c.ErrorMessage, strconv.Itoa(c.OccurrenceCount),
		c.OpenedAt.UTC().Format(time.RFC3339), c.LastOccurredAt.UTC().Format(time.RFC3339), c.ResolvedBy}
}
