package dashboard_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/schedules"
)

func (s *server) schedule(name string) {
	s.t.Helper()
	if _, err := s.engine.Schedules().Save(s.t.Context(), schedules.ScheduleRequest{Spec: schedules.Spec{Name: name,
		Description: "sums up the day", Cron: "30 2 29 2 *", TimeZone: "Europe/Berlin", TaskType: "report",
		Context: json.RawMessage(`{"city": "Berlin"}`), Tags: []string{"red"}}}); err != nil {
		s.t.Fatal(err)
	}
}

func actsOnSchedules(o operator) {
	const act, at = "/schedules/{namespace}/{name}/act", "/schedules/default/nightly"
	o.s.schedule("nightly")
	tomorrow := time.Now().UTC().Add(24 * time.Hour).Format("2006-01-02T15:04")
	o.does(act, at+"/act", "The schedule is paused.", "do", "pause", "reason", "the database moves", "until", tomorrow)
	o.page(at, "the database moves", "Resume</button>", "until "+strings.Replace(tomorrow, "T", " ", 1))
	o.does(act, at+"/act", "The schedule fires again.", "do", "resume")
	o.does(act, at+"/act", "The task is submitted.", "do", "run", "reason", "the auditor asks")
	if got := o.post(at+"/act", "do", "run", "overlap", "skip"); got.status != http.StatusConflict {
		o.s.t.Errorf("a second task with the policy skip = %d", got.status)
	}
	o.does(act, at+"/act", "waits for a task of an earlier one", "do", "run", "overlap", "queue_all")
	o.does(act, at+"/act", "The schedule is deleted.", "do", "delete", "reason", "not wanted")
}

// TestSchedules: a schedule shows its next times and the outcomes of its firings; the task of a firing leads back to
// it.
func TestSchedules(t *testing.T) {
	t.Parallel()
	const bad = `a/b"'><script>alert(1)</script>`
	s := serve(t)
	v := s.viewer()
	v.page("/schedules?first=1", "There is no schedule") // another address: looks are shared for a second
	s.schedule("nightly")
	s.schedule(bad)
	if got := v.page("/schedules", "nightly", "30 2 29 2 *", "Europe/Berlin", "not yet"); strings.Contains(got,
		"<script>alert") {
		t.Errorf("a name is no text:\n%s", main(got))
	}
	v.page("/schedules/default/a%2Fb%22%27%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E", "Settings")
	const at = "/schedules/default/nightly"
	v.page(at, "sums up the day", "2028-02-29 02:30:00", "Nothing has fired yet.", "Berlin", "Run now…", "Pause…",
		"Delete…")
	v.post(at+"/act", "do", "run")
	firings, err := s.engine.Schedules().Firings(t.Context(), "default", "nightly", schedules.FiringFilter{})
	if err != nil || len(firings.Firings) != 1 {
		t.Fatalf("%+v, %v", firings, err)
	}
	task := firings.Firings[0].TaskUUID.String()
	v.page(at, "/tasks/"+task, "steps in process")
	v.page("/schedules", "steps in process")
	v.page("/tasks/"+task, `href="`+at+`"`, "(run)")
	if got := v.get("/schedules/export?format=csv"); !strings.Contains(got.body,
		"default,nightly,30 2 29 2 *,Europe/Berlin") {
		t.Errorf("the list as a file is\n%s", got.body)
	}
	if got := v.get("/schedules/default/nobody"); got.status != http.StatusNotFound {
		t.Errorf("an unknown schedule = %d", got.status)
	}
	for fields, status := range map[[4]string]int{
		{"do", "pause", "etag", "99"}:     http.StatusConflict,
		{"do", "pause", "until", "soon"}:  http.StatusBadRequest,
		{"do", "explode", "etag", ""}:     http.StatusBadRequest,
		{"do", "run", "overlap", "never"}: http.StatusBadRequest,
	} {
		if got := v.post(at+"/act", fields[:]...); got.status != status {
			t.Errorf("%q = %d\n%s", fields, got.status, got.body)
		}
	}
}

// TestSchedulesOfOthers: a reader sees no acts, and is refused them; a foreign namespace is not found.
func TestSchedulesOfOthers(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Key{Name: "reader", Permissions: []string{"read"}},
		access.Key{Name: "shop", Permissions: []string{"read", "operate"}, Namespaces: []string{"shop"}},
		access.Key{Name: "letters", Permissions: []string{"dead-letters:read"}})
	s.schedule("nightly")
	const at = "/schedules/default/nightly"
	reader := s.as("reader")
	got := main(reader.page(at, "Next times"))
	for _, hidden := range []string{"Run now", "Pause…", "Delete…"} {
		if strings.Contains(got, hidden) {
			t.Errorf("a reader sees %q", hidden)
		}
	}
	shop, letters := s.as("shop"), s.as("letters")
	if got := main(shop.page("/schedules")); strings.Contains(got, at) {
		t.Error("a key of another namespace sees the schedule in the list")
	}
	if got := shop.get(at); got.status != http.StatusNotFound {
		t.Errorf("GET of another namespace = %d", got.status)
	}
	for _, do := range []string{"pause", "run", "resume", "delete"} {
		if got := reader.post(at+"/act", "do", do); got.status != http.StatusForbidden {
			t.Errorf("%s by a reader = %d", do, got.status)
		}
		if got := shop.post(at+"/act", "do", do); got.status != http.StatusNotFound {
			t.Errorf("%s from another namespace = %d", do, got.status)
		}
	}
	if got := letters.get("/schedules"); got.status != http.StatusForbidden {
		t.Errorf("GET /schedules without read = %d", got.status)
	}
	if got := letters.get("/"); strings.Contains(got.body, `href="/schedules"`) {
		t.Error("the navigation has schedules for a key that may not read them")
	}
}
