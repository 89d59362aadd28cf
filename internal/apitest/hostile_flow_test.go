package apitest_test

import (
	"maps"
	"strings"
)

// flowOf has the bases of pauses and schedules. No worker serves what they name.
var flowOf = map[string]base{
	"post /v1/pauses":        {"", `{"kind":"handler","handler":"idle","reason":"x","paused_by":"ann"}`},
	"post /v1/pauses/resume": {"", `{"kind":"handler","handler":"idle","reason":"x","resumed_by":"ann"}`},
	"post /v1/schedules":     {"", `{"name":"t","cron":"@daily","task_type":"idle"}`},
	"post /v1/schedules/{namespace}/{name}/backfill": {"",
		`{"from":"2026-01-01T00:00:00Z","until":"2026-01-03T00:00:00Z","overlap":"allow"}`},
	"post /v1/schedules/{namespace}/{name}/pause":  {"", `{"reason":"x","actor":"ann"}`},
	"post /v1/schedules/{namespace}/{name}/resume": {"", `{"reason":"x","actor":"ann"}`},
	"post /v1/schedules/{namespace}/{name}/run":    {"", `{"reason":"x","actor":"ann","overlap":"allow"}`},
}

func init() { maps.Copy(baseOf, flowOf) }

// prepareFlow makes a pause and a schedule; for a path that resumes the schedule, it is paused.
func (h *attacker) prepareFlow() {
	h.t.Helper()
	switch {
	case h.path == "/v1/pauses/resume":
		h.made("/v1/pauses", flowOf["post /v1/pauses"].body, nil)
	case strings.HasPrefix(h.path, "/v1/schedules/"):
		h.made("/v1/schedules", flowOf["post /v1/schedules"].body, nil)
		if strings.HasSuffix(h.path, "/resume") {
			h.made("/v1/schedules/default/t/pause", `{"reason":"x"}`, nil)
		}
	}
}
