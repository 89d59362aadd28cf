package httpapi

import "github.com/taskerhq/tasker/internal/api/httpapi/endpoint"

// olderNames are former names of filters, by the path of their operation. They still work, but are not in the OpenAPI
// document.
var olderNames = map[string]map[string]string{
	"/v1/dlq":                     {"reason": "dlq_reason"},
	"/v1/dlq/stats":               {"reason": "dlq_reason"},
	"/v1/dlq/investigation-queue": {"reason": "dlq_reason"},
	"/v1/dlq/staleness":           {"health": "health_status", "namespace": "namespace_name"},
	"/v1/templates":               {"namespace": "namespace_name"},
	"/v1/audit":                   {"case": "dlq_entry_uuid"},
	"/v1/events":                  {"task": "task_uuid", "state": "to_state"},
}

func renameParameters(a *endpoint.API) {
	for path, names := range olderNames {
		a.OlderNames(path, names)
	}
}
