package apitest_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/host/node"
)

// flowOf has the bases of pauses, limits and schedules, without workers.
var flowOf = map[string]base{
	"post /v1/pauses":                      {"", `{"kind":"handler","handler":"idle","reason":"x","paused_by":"ann"}`},
	"post /v1/pauses/resume":               {"", `{"kind":"handler","handler":"idle","reason":"x","resumed_by":"ann"}`},
	"post /v1/limits":                      {"", `{"kind":"handler","handler":"idle","concurrency":5,"reason":"x","set_by":"ann"}`},
	"post /v1/limits/delete":               {"", `{"kind":"handler","handler":"idle","reason":"x","deleted_by":"ann"}`},
	"post /v1/signals":                     {"", `{"name":"paid","key":"7","signal_id":"e","payload":{"a":1}}`},
	"post /v1/schedules":                   {"", `{"name":"t","cron":"@daily","task_type":"idle"}`},
	"post /v1/outages/{outage_uuid}/close": {"", `{"reason":"x","closed_by":"ann"}`},
	"post /v1/schedules/{namespace}/{name}/backfill": {"",
		`{"from":"2026-01-01T00:00:00Z","until":"2026-01-03T00:00:00Z","overlap":"allow"}`},
	"post /v1/schedules/{namespace}/{name}/pause":  {"", `{"reason":"x","actor":"ann"}`},
	"post /v1/schedules/{namespace}/{name}/resume": {"", `{"reason":"x","actor":"ann"}`},
	"post /v1/schedules/{namespace}/{name}/run":    {"", `{"reason":"x","actor":"ann","overlap":"allow"}`},
}

func init() { maps.Copy(baseOf, flowOf) }

// prepareFlow makes a pause, a limit and a schedule, which is paused for a path that resumes it.
func (h *attacker) prepareFlow() {
	h.t.Helper()
	switch {
	case strings.HasPrefix(h.path, "/v1/outages/"):
		h.known["outage_uuid"] = openOutage(h.t, h.Client).OutageUUID.String()
	case h.path == "/v1/pauses/resume":
		h.made("/v1/pauses", flowOf["post /v1/pauses"].body, nil)
	case h.path == "/v1/limits/delete":
		h.made("/v1/limits", flowOf["post /v1/limits"].body, nil)
	case strings.HasPrefix(h.path, "/v1/schedules/"):
		h.made("/v1/schedules", flowOf["post /v1/schedules"].body, nil)
		if strings.HasSuffix(h.path, "/resume") {
			h.made("/v1/schedules/default/t/pause", `{"reason":"x"}`, nil)
		}
	}
}

// TestTemplateThatNoneCanBe: an impossible name is refused, and fails no query.
func TestTemplateThatNoneCanBe(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		s := serve(t, dsn, node.Options{})
		for _, name := range []string{`a\u0000`, `a\u001b`} {
			body := `{"name":"s","cron":"@daily","template":"` + name + `","context":{}}`
			resp, err := http.Post(s.url+"/v1/schedules", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("a schedule of the template %s is answered with %d", name, resp.StatusCode)
			}
		}
	})
}
