// Package tasks is the pages about tasks: the list, and one task with its steps, history and acts.
package tasks

import (
	"embed"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

//go:embed *.html
var templates embed.FS

type pages struct {
	api   *tasker.Client
	cases operate.Backend
}

// Permissions of viewers and operators; the API decides.
var (
	reads    = []access.Permission{access.Read}
	operates = []access.Permission{access.Operate}
	cancels  = []access.Permission{access.Submit, access.Operate}
)

// Add adds the pages to a site.
func Add(site *page.Site, api *tasker.Client) {
	p := &pages{api: api, cases: operate.Of(api)}
	f := site.Family(templates)
	page.AddList(f, page.ListPage[tasker.Task, taskList]{
		Page: page.Page[taskList]{Path: "/tasks", File: "list.html", Section: "tasks", Needs: reads,
			Topics: []string{live.Tasks}},
		Rows: p.list, Show: p.showList,
		Columns: []string{"task_uuid", "namespace", "name", "version", "state", "priority", "created_at", "finished_at",
			"steps", "completed_steps", "failed_steps", "correlation_id"},
		Record: record,
	})
	page.Add(f, page.Page[taskPage]{Path: "/tasks/{uuid}", File: "task.html", Section: "tasks", Needs: reads,
		Topics: []string{live.Tasks, live.Cases}, Load: p.task})
	page.Add(f, page.Page[logsPage]{Path: "/tasks/{uuid}/steps/{step}/logs", File: "logs.html", Section: "tasks",
		Needs: reads, Topics: []string{live.Tasks}, Load: p.logs})
	page.AddList(f, page.ListPage[operate.Case, caseList]{
		Page: page.Page[caseList]{Path: "/cases", File: "cases.html", Section: "inbox", Needs: reads,
			Topics: []string{live.Cases}},
		Rows: p.listCases, Show: p.showCases,
		Columns: []string{"dlq_entry_uuid", "task_uuid", "namespace", "task_name", "resolution_status", "dlq_reason",
			"failed_step", "handler", "error_message", "occurrence_count", "opened_at", "last_occurred_at", "resolved_by"},
		Record: caseRecord,
	})
	f.Download("/cases/{case}", reads, p.taskOfCase)
	f.Act("/tasks/{uuid}/cancel", cancels, p.cancel)
	f.Act("/tasks/{uuid}/replay", operates, p.replay)
	f.Act("/tasks/{uuid}/context", operates, p.editContext)
	page.Fragment(f, "POST /tasks/{uuid}/context/preview", "task.html", "preview", operates, p.previewContext)
	f.Act("/tasks/{uuid}/steps/{step}", operates, p.actOnStep)
	f.Act("/tasks/{uuid}/case", operates, p.changeCase)
}
