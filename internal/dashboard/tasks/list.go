package tasks

import (
	"strconv"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type taskList struct {
	Tasks    []tasker.Task
	Pager    page.Pager
	Tabs     []page.Tab
	Filtered bool
}

var views = []struct {
	title, name string
	states      []tasker.TaskState
}{
	{"All", "", nil},
	{"Under way", "live", []tasker.TaskState{tasker.TaskPending, tasker.TaskInitializing, tasker.TaskEnqueuingSteps,
		tasker.TaskStepsInProcess, tasker.TaskEvaluatingResults, tasker.TaskWaitingForDependencies}},
	{"Waiting for a retry", "retry", []tasker.TaskState{tasker.TaskWaitingForRetry, tasker.TaskBlockedByFailures}},
	{"In error", "error", []tasker.TaskState{tasker.TaskError}},
	{"Complete", "complete", []tasker.TaskState{tasker.TaskComplete, tasker.TaskResolvedManually}},
	{"Cancelled", "cancelled", []tasker.TaskState{tasker.TaskCancelled}},
}

func (p *pages) list(r *page.Request, cursor string) (page.List[tasker.Task], error) {
	filter := tasker.TaskFilter{Namespace: r.Namespace(), Name: r.Query("name"), Version: r.Query("version"),
		Tag: r.Query("tag"), CorrelationID: r.Query("correlation_id"), Initiator: r.Query("initiator"),
		Priority: tasker.Priority(r.Query("priority")), Limit: 50, Cursor: cursor}
	for _, v := range views {
		if v.name == r.Query("view") {
			filter.States = v.states
		}
	}
	if state := r.Query("state"); state != "" {
		filter.States = []tasker.TaskState{tasker.TaskState(state)}
	}
	var err error
	if filter.CreatedAfter, err = r.QueryTime("after"); err != nil {
		return page.List[tasker.Task]{}, err
	}
	if filter.CreatedBefore, err = r.QueryTime("before"); err != nil {
		return page.List[tasker.Task]{}, err
	}
	got, err := p.api.Tasks(r.Context(), filter)
	if err != nil {
		return page.List[tasker.Task]{}, err
	}
	return page.List[tasker.Task]{Items: got.Tasks, Next: got.NextCursor}, nil
}

func (p *pages) showList(r *page.Request, of page.List[tasker.Task]) (taskList, error) {
	out := taskList{Tasks: of.Items, Pager: of.Pager(r)}
	for _, v := range views {
		out.Tabs = append(out.Tabs, page.Tab{Title: v.title, URL: r.URL("view", v.name, "state", ""),
			Here: r.Query("state") == "" && r.Query("view") == v.name})
	}
	for _, name := range []string{"name", "namespace", "tag", "correlation_id", "initiator", "after", "before", "state",
		"view"} {
		out.Filtered = out.Filtered || r.Query(name) != ""
	}
	return out, nil
}

func record(t tasker.Task) []string {
	finished := ""
	if t.FinishedAt != nil {
		finished = t.FinishedAt.UTC().Format(time.RFC3339)
	}
	return []string{t.TaskUUID.String(), t.Namespace, t.Name, t.Version, string(t.State), string(t.Priority),
		t.CreatedAt.UTC().Format(time.RFC3339), finished, strconv.Itoa(t.TotalSteps), strconv.Itoa(t.CompletedSteps),
		strconv.Itoa(t.FailedSteps), t.CorrelationID}
}
