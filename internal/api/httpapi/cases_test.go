package httpapi_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/operate"
)

func TestCaseFilters(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	const about = "resolution_status=cancelled&reason=max_retries_exceeded&namespace=n%2F1&task_name=a%20b&after=2026-01-31T12:00:00.123456Z&before=2026-02-01T00:00:00%2B01:00"
	want := operate.CaseFilter{ResolutionStatus: tasker.CaseCancelled, Reason: tasker.ReasonMaxRetries, Namespace: "n/1",
		TaskName: "a b", After: noon,
		Before: time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)}

	a.do(t, "GET", "/v1/dlq/stats?"+about, "")
	if diff := cmp.Diff(want, last[operate.CaseFilter](f)); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	want.Limit, want.Offset = 7, 20
	a.do(t, "GET", "/v1/dlq/investigation-queue?limit=7&offset=20&"+about, "")
	if diff := cmp.Diff(want, last[operate.CaseFilter](f)); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
	got := a.do(t, "GET", "/v1/dlq?limit=7&offset=20&"+about, "")
	if diff := cmp.Diff(want, last[operate.CaseFilter](f)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if got.body != "[]\n" {
		t.Errorf("an empty page is %q", got.body)
	}
	a.do(t, "GET", "/v1/dlq/staleness?health=stale&namespace=n&task_name=x&limit=3", "")
	if diff := cmp.Diff(operate.StalenessFilter{Health: operate.Stale, Namespace: "n", TaskName: "x", Limit: 3},
		last[operate.StalenessFilter](f)); diff != "" {
		t.Errorf("staleness (-want +got):\n%s", diff)
	}
}

func TestCaseListsHaveLimits(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	a.do(t, "GET", "/v1/dlq", "")
	if got := last[operate.CaseFilter](f); !reflect.DeepEqual(got, operate.CaseFilter{Limit: 50}) {
		t.Errorf("the list's defaults are %+v", got)
	}
	a.do(t, "GET", "/v1/dlq/investigation-queue", "")
	if got := last[operate.CaseFilter](f); !reflect.DeepEqual(got, operate.CaseFilter{Limit: 100}) {
		t.Errorf("the queue's defaults are %+v", got)
	}
	a.do(t, "GET", "/v1/dlq/staleness", "")
	if got := last[operate.StalenessFilter](f); got != (operate.StalenessFilter{Limit: 100}) {
		t.Errorf("the defaults of staleness are %+v", got)
	}
	a.do(t, "GET", "/v1/audit", "")
	if got := last[operate.AuditFilter](f); got != (operate.AuditFilter{Limit: 50}) {
		t.Errorf("the trail's defaults are %+v", got)
	}
}

func TestCaseParametersRefused(t *testing.T) {
	t.Parallel()
	entry := "/v1/dlq/entry/" + caseID.String()
	for name, c := range map[string]struct{ method, target, body, at string }{
		"Status":          {"GET", "/v1/dlq?resolution_status=open", "", "query.resolution_status"},
		"Reason":          {"GET", "/v1/dlq?dlq_reason=manual", "", "query.dlq_reason"},
		"Limit":           {"GET", "/v1/dlq?limit=1001", "", "query.limit"},
		"Offset":          {"GET", "/v1/dlq?offset=-1", "", "query.offset"},
		"After":           {"GET", "/v1/dlq?after=yesterday", "", "query.after"},
		"QueueStatus":     {"GET", "/v1/dlq/investigation-queue?resolution_status=new", "", "query.resolution_status"},
		"QueueLimit":      {"GET", "/v1/dlq/investigation-queue?limit=0", "", "query.limit"},
		"StatsLimit":      {"GET", "/v1/dlq/stats?limit=10", "", "query.limit"},
		"Health":          {"GET", "/v1/dlq/staleness?health_status=bad", "", "query.health_status"},
		"Task":            {"GET", "/v1/dlq/task/abc", "", "path.task_uuid"},
		"Case":            {"PATCH", "/v1/dlq/entry/abc", `{"reopen":true}`, "path.dlq_entry_uuid"},
		"Kind":            {"GET", "/v1/audit?kind=Reset", "", "query.kind"},
		"AuditTask":       {"GET", "/v1/audit?task_uuid=abc", "", "query.task_uuid"},
		"AuditBelow":      {"GET", "/v1/audit?below=0", "", "query.below"},
		"OpenNoReason":    {"POST", "/v1/dlq/task/" + taskID.String(), `{"opened_by":"ann"}`, "/reason"},
		"OpenEmptyReason": {"POST", "/v1/dlq/task/" + taskID.String(), `{"reason":"","opened_by":"ann"}`, "/reason"},
		"OpenLongActor": {"POST", "/v1/dlq/task/" + taskID.String(),
			`{"reason":"x","opened_by":"` + strings.Repeat("x", 256) + `"}`, "/opened_by"},
		"OpenNothing":     {"POST", "/v1/dlq/task/" + taskID.String(), "", ""},
		"UpdateStatus":    {"PATCH", entry, `{"resolution_status":"resolved"}`, "/resolution_status"},
		"UpdateUnknown":   {"PATCH", entry, `{"resolution_note":"x"}`, "/resolution_note"},
		"UpdateLongNotes": {"PATCH", entry, `{"resolution_notes":"` + strings.Repeat("x", 16385) + `"}`, "/resolution_notes"},
		"UpdateNothing":   {"PATCH", entry, "", ""},
		"DetectBatch":     {"POST", "/v1/dlq/staleness/detect", `{"batch_size":0}`, "/batch_size"},
		"DetectUnknown":   {"POST", "/v1/dlq/staleness/detect", `{"dryrun":true}`, "/dryrun"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			got := newAPI(t, f, httpapi.Options{}).do(t, c.method, c.target, c.body)
			p := got.problem(t)
			if got.status != 400 || p.Code != tasker.CodeInvalid || at(p) != c.at || f.called() != 0 {
				t.Errorf("answer is %d at %q: %s", got.status, at(p), got.body)
			}
		})
	}
}

func TestCaseBodies(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	entry := "/v1/dlq/entry/" + caseID.String()

	opened := a.do(t, "POST", "/v1/dlq/task/"+taskID.String(),
		`{"reason":"odd","opened_by":"ann","metadata":{"ticket":12345678901234567890}}`)
	if opened.status != 201 || opened.header.Get("Location") != "/v1/dlq/task/"+taskID.String() {
		t.Errorf("answer is %d, Location %q", opened.status, opened.header.Get("Location"))
	}
	want := operate.OpenCaseRequest{Reason: "odd", OpenedBy: "ann", Metadata: []byte(`{"ticket":12345678901234567890}`)}
	if diff := cmp.Diff(want, last[operate.OpenCaseRequest](f)); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}

	a.do(t, "PATCH", entry,
		`{"resolution_status":"permanently_failed","resolution_notes":"","resolved_by":"ann","metadata":{"a":null}}`)
	empty := ""
	wantUpdate := operate.CaseUpdate{ResolutionStatus: tasker.CasePermanentlyFailed, ResolutionNotes: &empty,
		ResolvedBy: "ann", Metadata: []byte(`{"a":null}`)}
	if diff := cmp.Diff(wantUpdate, last[operate.CaseUpdate](f)); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
	a.do(t, "PATCH", entry, `{"resolution_status":null,"resolution_notes":null,"metadata":null,"reopen":true}`)
	if diff := cmp.Diff(operate.CaseUpdate{Reopen: true}, last[operate.CaseUpdate](f)); diff != "" {
		t.Errorf("null is not left out (-want +got):\n%s", diff)
	}

	a.do(t, "POST", "/v1/dlq/staleness/detect", "")
	if got := last[operate.DetectRequest](f); got != (operate.DetectRequest{}) {
		t.Errorf("a detection without a body is %+v", got)
	}
	a.do(t, "POST", "/v1/dlq/staleness/detect", `{"dry_run":true,"batch_size":5}`)
	if got := last[operate.DetectRequest](f); got != (operate.DetectRequest{DryRun: true, BatchSize: 5}) {
		t.Errorf("a detection is %+v", got)
	}
}

func TestSnapshotDocumented(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(a.do(t, "GET", "/v1/dlq/task/"+taskID.String(), "").body))
	if err != nil {
		t.Fatal(err)
	}
	schema := a.doc.compile(t, "/components/schemas/CaseSnapshot")
	if err := schema.Validate(value.(map[string]any)["task_snapshot"]); err != nil {
		t.Error(err)
	}
	if err := schema.Validate(map[string]any{"task_uuid": "x"}); err == nil {
		t.Error("anything is a snapshot")
	}
}

func TestCaseActorDefaultsToTheKey(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "ann", "operate")
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	a.do(t, "POST", "/v1/dlq/task/"+taskID.String(), `{"reason":"odd"}`, key)
	if got := last[operate.OpenCaseRequest](f).OpenedBy; got != "ann" {
		t.Errorf("opened by %q", got)
	}
	a.do(t, "PATCH", "/v1/dlq/entry/"+caseID.String(), `{"resolution_status":"cancelled"}`, key)
	if got := last[operate.CaseUpdate](f).ResolvedBy; got != "ann" {
		t.Errorf("resolved by %q", got)
	}
	a.do(t, "PATCH", "/v1/dlq/entry/"+caseID.String(), `{"resolution_status":"cancelled","resolved_by":"bob"}`, key)
	if got := last[operate.CaseUpdate](f).ResolvedBy; got != "bob" {
		t.Errorf("a named actor became %q", got)
	}
}
