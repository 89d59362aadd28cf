package httpapi

import (
	"net/url"

	"github.com/taskerhq/tasker"
)

// A filter has the name of the filtered field. olderNames are former names of some filters, by the path of their
// operation. They still work, but are not in the OpenAPI document.
var olderNames = map[string]map[string]string{
	"/v1/dlq":                     {"reason": "dlq_reason"},
	"/v1/dlq/stats":               {"reason": "dlq_reason"},
	"/v1/dlq/investigation-queue": {"reason": "dlq_reason"},
	"/v1/dlq/staleness":           {"health": "health_status", "namespace": "namespace_name"},
	"/v1/templates":               {"namespace": "namespace_name"},
	"/v1/audit":                   {"case": "dlq_entry_uuid"},
	"/v1/events":                  {"task": "task_uuid", "state": "to_state"},
	"/api/v1/dlq":                 {"reason": "failure_reason", "error": "error_pattern"},
}

// renameOlder replaces older names of parameters with the present ones. It refuses both at once.
func renameOlder(path string, u *url.URL) error {
	older := olderNames[path]
	if older == nil || u.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return tasker.Errorf(tasker.CodeInvalid, "the query cannot be read: %v", err)
	}
	renamed := false
	for from, to := range older {
		if !values.Has(from) {
			continue
		}
		if values.Has(to) {
			return badParameter("query."+from, "is the older name of "+to+": give one of them")
		}
		values[to], renamed = values[from], true
		values.Del(from)
	}
	if renamed {
		u.RawQuery = values.Encode()
	}
	return nil
}
