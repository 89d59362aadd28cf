package endpoint

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// tags groups the operations, in the order of the document. An operation belongs to the tag with the longest prefix of
// its path.
var tags = []struct {
	name, description string
	paths             []string
}{
	{"tasks", "Submit tasks; read, change and cancel them, and learn why they are where they are.", []string{"/v1/tasks"}},
	{"steps", "Steps of a task and their repair.", []string{"/v1/tasks/{uuid}/workflow_steps"}},
	{"templates", "Workflows. A registered version is immutable.", []string{"/v1/templates"}},
	{"schedules", "Tasks at times.", []string{"/v1/schedules"}},
	{"approvals and signals", "What steps wait for.", []string{"/v1/approvals", "/v1/signals"}},
	{"flow control", "Routes of steps; pauses, limits and outages that hold them back.",
		[]string{"/v1/routes", "/v1/pauses", "/v1/limits", "/v1/outages"}},
	{"cases", "Investigations of stuck tasks.", []string{"/v1/dlq"}},
	{"replays", "Failed steps of many tasks, run again at a rate.", []string{"/v1/replays"}},
	{"dead letters", "Messages that their consumers could not process.", []string{"/v1/dead-letters"}},
	{"groups", "Dead letters and cases of one cause: the inbox.", []string{"/v1/groups"}},
	{"redrives", "Operations on many letters and cases, in waves.", []string{"/v1/redrives"}},
	{"sources", "Where dead letters come from, and what is done with them without an operator.",
		[]string{"/v1/sources", "/v1/policies", "/v1/rules"}},
	{"events", "Server-sent events, so that clients need not poll; webhooks.", []string{"/v1/events", "/v1/webhooks"}},
	{"audit", "Acts of operators. The audit trail is append-only.", []string{"/v1/audit"}},
	{"workers", "The worker protocol: register, poll, start, result, heartbeat.", []string{"/internal/workers"}},
	{"queue API: executions", "Tasks of one step in the words of a queue of executions.", []string{"/api/v1/executions"}},
	{"queue API: dead letters", "Permanently failed tasks, and messages of topics.", []string{"/api/v1/dlq"}},
	{"queue API: workers", "The worker protocol in the words of the queue.", []string{"/api/v1/workers"}},
	{"queue API", "The engine as a single priority queue.", []string{"/api/v1"}},
	{"dead letter queues by name", "Jobs of named queues.", []string{"/api/dlq"}},
	{"server", "The server itself.", []string{"/"}},
}

func tagList() []*huma.Tag {
	list := make([]*huma.Tag, len(tags))
	for i, t := range tags {
		list[i] = &huma.Tag{Name: t.name, Description: t.description}
	}
	return list
}

func tagOf(path string) string {
	var name, longest string
	for _, t := range tags {
		for _, begin := range t.paths {
			if len(begin) > len(longest) && strings.HasPrefix(path, begin) {
				name, longest = t.name, begin
			}
		}
	}
	return name
}
