package httpapi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/operate"
)

func TestCaseNamespaces(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "admin", "default")
	const update = `{"resolution_status":"cancelled"}`
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		at                 string
	}{
		"ListOutside":      {"GET", "/v1/dlq?namespace=secret", "", 403, "query.namespace"},
		"StatsOutside":     {"GET", "/v1/dlq/stats?namespace=secret", "", 403, "query.namespace"},
		"QueueOutside":     {"GET", "/v1/dlq/investigation-queue?namespace=secret", "", 403, "query.namespace"},
		"StalenessOutside": {"GET", "/v1/dlq/staleness?namespace=secret", "", 403, "query.namespace"},
		"GetOwn":           {"GET", "/v1/dlq/task/" + taskID.String(), "", 200, ""},
		"GetOther":         {"GET", "/v1/dlq/task/" + otherID.String(), "", 404, ""},
		"GetMissing":       {"GET", "/v1/dlq/task/" + stepID.String(), "", 404, ""},
		"OpenOwn":          {"POST", "/v1/dlq/task/" + taskID.String(), `{"reason":"x"}`, 201, ""},
		"OpenOther":        {"POST", "/v1/dlq/task/" + otherID.String(), `{"reason":"x"}`, 404, ""},
		"UpdateOwn":        {"PATCH", "/v1/dlq/entry/" + caseID.String(), update, 200, ""},
		"UpdateOther":      {"PATCH", "/v1/dlq/entry/" + otherCaseID.String(), update, 404, ""},
		"UpdateMissing":    {"PATCH", "/v1/dlq/entry/" + stepID.String(), update, 404, ""},
		"DeadOutside":      {"GET", "/api/v1/dlq?namespace=secret", "", 403, "query.namespace"},
		"PatternsOutside":  {"GET", "/api/v1/dlq/patterns?namespace=secret", "", 403, "query.namespace"},
		"EditOwn":          {"PATCH", "/v1/tasks/" + taskID.String() + "/context", `{"context":{},"reason":"x"}`, 200, ""},
		"EditOther":        {"PATCH", "/v1/tasks/" + otherID.String() + "/context", `{"context":{},"reason":"x"}`, 404, ""},
		"BulkOutside": {"POST", "/v1/dlq/update", `{"filter":{"namespace":"secret"},"update":{"resolution_notes":"x"}}`,
			403, "/filter/namespace"},
		"BulkActOutside": {"POST", "/v1/dlq/act",
			`{"filter":{"namespace":"secret"},"action":{"action_type":"reset_for_retry","reason":"x"}}`, 403,
			"/filter/namespace"},
		"BulkOwn": {"POST", "/v1/dlq/update", `{"filter":{"task_name":"import"},"update":{"resolution_notes":"x"}}`,
			200, ""},
		"ReplayOwn":       {"POST", "/api/v1/dlq/" + taskID.String() + "/replay", "", 200, ""},
		"ReplayOther":     {"POST", "/api/v1/dlq/" + otherID.String() + "/replay", "", 404, ""},
		"ReplayMissing":   {"POST", "/api/v1/dlq/" + stepID.String() + "/replay", "{}", 404, ""},
		"Detect":          {"POST", "/v1/dlq/staleness/detect", `{"dry_run":true}`, 403, ""},
		"AuditOutside":    {"GET", "/v1/audit?namespace=secret", "", 403, "query.namespace"},
		"AuditOwnOutside": {"GET", "/v1/audit?namespace=secret&task_uuid=" + taskID.String(), "", 403, "query.namespace"},
		"AuditOwn":        {"GET", "/v1/audit?task_uuid=" + taskID.String(), "", 200, ""},
		"AuditOther":      {"GET", "/v1/audit?task_uuid=" + otherID.String(), "", 404, ""},
		"AuditOwnCase":    {"GET", "/v1/audit?case=" + caseID.String(), "", 200, ""},
		"AuditOtherCase":  {"GET", "/v1/audit?case=" + otherCaseID.String(), "", 404, ""},
		"AuditMixed":      {"GET", "/v1/audit?task_uuid=" + taskID.String() + "&case=" + otherCaseID.String(), "", 404, ""},
		"TaskAuditOwn":    {"GET", "/v1/tasks/" + taskID.String() + "/audit", "", 200, ""},
		"TaskAuditOther":  {"GET", "/v1/tasks/" + otherID.String() + "/audit", "", 404, ""},
		"CaseAuditOwn":    {"GET", "/v1/dlq/entry/" + caseID.String() + "/audit", "", 200, ""},
		"CaseAuditOther":  {"GET", "/v1/dlq/entry/" + otherCaseID.String() + "/audit", "", 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			got := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})}).do(t, c.method, c.path, c.body, key)
			if got.status != c.status {
				t.Fatalf("answer is %d %s, want %d", got.status, got.body, c.status)
			}
			if c.status >= 400 {
				if p := got.problem(t); at(p) != c.at || f.called() != 0 {
					t.Errorf("answer is at %q, want %q; the backend was called %d times: %s", at(p), c.at, f.called(), got.body)
				}
			}
		})
	}
}

func TestCaseNamespacesNarrow(t *testing.T) {
	t.Parallel()
	f := &fake{}
	ring, key := ringOf(t, "k", "read", "default")
	a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	for _, path := range []string{"/v1/dlq", "/v1/dlq/stats", "/v1/dlq/investigation-queue"} {
		a.do(t, "GET", path, "", key)
		if got := last[operate.CaseFilter](f).Namespace; got != "default" {
			t.Errorf("%s is of %q", path, got)
		}
	}
	a.do(t, "GET", "/v1/dlq/staleness", "", key)
	if got := last[operate.StalenessFilter](f).Namespace; got != "default" {
		t.Errorf("staleness is of %q", got)
	}
	ring, key = ringOf(t, "k", "read", "default", "video")
	a = newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	if got := a.do(t, "GET", "/v1/dlq", "", key); got.status != 403 || !strings.Contains(got.body, "name one") {
		t.Errorf("a key with two namespaces that names none is answered %d %s", got.status, got.body)
	}
	if got := a.do(t, "GET", "/v1/dlq?namespace=video", "", key); got.status != 200 ||
		last[operate.CaseFilter](f).Namespace != "video" {
		t.Errorf("a key with two namespaces that names one is answered %d", got.status)
	}
}

// TestCaseProbing: nothing but the id tells a case of another namespace from a missing one.
func TestCaseProbing(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "operate", "default")
	a := newAPI(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	other := a.do(t, "PATCH", "/v1/dlq/entry/"+otherCaseID.String(), `{"reopen":true}`, key)
	missing := a.do(t, "PATCH", "/v1/dlq/entry/"+stepID.String(), `{"reopen":true}`, key)
	if strings.ReplaceAll(other.body, otherCaseID.String(), "") != strings.ReplaceAll(missing.body, stepID.String(), "") {
		t.Errorf("the answers differ: %s and %s", other.body, missing.body)
	}
}

type blind struct{ httpapi.Backend }

func (blind) Case(context.Context, uuid.UUID) (*operate.Case, error) {
	return nil, tasker.Errorf(tasker.CodeUnavailable, "the store is away")
}

// TestCaseNotFoundCloses: a limited key does not reach the trail of a case whose namespace is unknown.
func TestCaseNotFoundCloses(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "admin", "default")
	f := &fake{}
	got := newAPI(t, blind{f}, httpapi.Options{Front: web.New(web.Options{Keys: ring})}).do(t, "GET",
		"/v1/dlq/entry/"+caseID.String()+"/audit", "", key)
	if got.status != 503 || f.called() != 0 {
		t.Errorf("answer is %d %s", got.status, got.body)
	}
}
