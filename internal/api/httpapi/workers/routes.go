package workers

import (
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/httpapi/stepworker"
	"github.com/taskerhq/tasker/internal/api/httpapi/taskworker"
	"github.com/taskerhq/tasker/internal/model/access"
)

type family struct {
	steps *stepworker.Verbs
	tasks *taskworker.Verbs
}

// Routes adds the routes of the family to an API.
func Routes(api *endpoint.API, steps *stepworker.Verbs, tasks *taskworker.Verbs) {
	const hot, batch, optional, conflicts = endpoint.Hot, endpoint.Batch, endpoint.BodyOptional, endpoint.Conflicts
	const limited = endpoint.Limited
	get, post := endpoint.Get, endpoint.Post
	may := func(p ...access.Permission) []access.Permission { return p }
	read, work, operating := may(access.Read), may(access.Work), may(access.Operate)
	// A worker drains itself before it stops; an operator drains it from outside.
	leave := may(access.Work, access.Operate)
	f := &family{steps, tasks}
	taskworker.DocumentStatus(api)

	endpoint.Add(api, post("/internal/workers/register", "register-worker", "Register a worker", work, optional|limited),
		steps.Register)
	endpoint.Add(api, get("/internal/workers", "list-workers", "List workers", read, 0), steps.List)
	endpoint.Add(api, get("/internal/workers/{id}", "get-worker", "Get a worker", read, 0), steps.Get)
	// In both forms; see dialect.go. Those before drain run for every step or every few seconds.
	endpoint.Add(api, post("/internal/workers/{id}/poll", "poll", "Claim steps (long poll)", work, hot|optional),
		f.poll)
	endpoint.Add(api, post("/internal/workers/{id}/start", "start", "Start claimed steps", work, hot|batch|conflicts),
		f.start)
	endpoint.Add(api, post("/internal/workers/{id}/progress", "progress", "Report the progress of a step", work,
		hot|conflicts), f.progress)
	endpoint.Add(api, post("/internal/workers/{id}/result", "result", "Settle steps", work, hot|batch|conflicts),
		f.result)
	// Large results are not part of polls and results.
	endpoint.AddUpload(api, post("/internal/workers/{id}/steps/{step_uuid}/large_result", "send-large-result",
		"Send a result above max_payload_bytes, before the step is settled with its reference", work,
		conflicts|limited), "The result: a JSON document of up to max_large_result_bytes.", steps.SendLarge)
	endpoint.AddDownload(api, get("/internal/workers/{id}/steps/{step_uuid}/parent_results/{name}",
		"get-large-parent-result", "Get the large result of a dependency of a step", work, conflicts),
		"The result: a JSON document.", steps.LargeParent)
	endpoint.Add(api, post("/internal/workers/{id}/heartbeat", "heartbeat", "Send a heartbeat and renew leases", work,
		hot|batch|optional), steps.Heartbeat)
	endpoint.Add(api, post("/internal/workers/{id}/drain", "drain", "Drain a worker: assign it no more steps", leave,
		optional), steps.Drain)
	endpoint.Add(api, post("/internal/workers/{id}/resume", "resume-worker", "Resume a drained worker", operating,
		optional|conflicts), steps.Resume)
	endpoint.Add(api, post("/internal/workers/{id}/cordon", "cordon-worker",
		"Cordon a worker: hand it no more steps until it is uncordoned", operating, optional), steps.Cordon)
	endpoint.Add(api, post("/internal/workers/{id}/uncordon", "uncordon-worker", "Uncordon a worker", operating,
		optional), steps.Uncordon)
}
