package executions

import (
	"github.com/taskerhq/tasker/internal/api/executionapi"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
)

type family struct{ executions *executionapi.Projection }

// Routes adds the routes of the family to an API, but for the stream.
func Routes(api *endpoint.API, backend executionapi.Backend) {
	const hot, creates, optional = endpoint.Hot, endpoint.Creates, endpoint.BodyOptional
	const finds, conflicts, limited = endpoint.Finds, endpoint.Conflicts, endpoint.Limited
	get, post := endpoint.Get, endpoint.Post
	may := func(p ...access.Permission) []access.Permission { return p }
	submit, read, operating := may(access.Submit), may(access.Read), may(access.Operate)
	f := &family{executionapi.New(backend)}

	endpoint.AddStored(api, post("/api/v1/executions", "create-execution", "Run an action", submit,
		hot|creates|finds|conflicts|limited), f.create)
	endpoint.Add(api, get("/api/v1/executions", "list-executions", "List executions, newest first", read, 0), f.list)
	endpoint.Add(api, get("/api/v1/executions/stats", "get-execution-stats", "Count executions by status", read, limited),
		f.stats)
	endpoint.Add(api, get("/api/v1/executions/expired", "get-expired-executions",
		"Count executions that expired in the queues of their workers", read, limited), f.expired)
	endpoint.Add(api, get("/api/v1/executions/{id}", "get-execution", "Get an execution with its result", read, hot),
		f.execution)
	endpoint.Add(api, post("/api/v1/executions/{id}/cancel", "cancel-execution", "Cancel an execution",
		may(access.Submit, access.Operate), optional|conflicts), f.cancel)
	endpoint.Add(api, post("/api/v1/executions/{id}/retry", "retry-execution", "Run a failed execution again", operating,
		optional|conflicts), f.retry)
}
