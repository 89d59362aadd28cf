package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

func TestAuditFilters(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	const about = "actor=ann%40x&key_name=ops&kind=reset_for_retry&after=2026-01-31T12:00:00.123456Z&before=2026-01-31T12:00:00.123456Z&limit=1000&below=9"
	want := operate.AuditFilter{Actor: "ann@x", KeyName: "ops", Kind: "reset_for_retry", After: noon, Before: noon,
		Limit: 1000, Below: 9}
	for name, c := range map[string]struct {
		path   string
		adjust func(*operate.AuditFilter)
	}{
		"All": {"/v1/audit?", func(*operate.AuditFilter) {}},
		"Subject": {"/v1/audit?namespace=video&template=cut&worker_id=" + workerID.String() + "&",
			func(f *operate.AuditFilter) {
				f.Namespace, f.Template, f.WorkerID = "video", "cut", workerID
			}},
		"Both": {"/v1/audit?task_uuid=" + taskID.String() + "&case=" + caseID.String() + "&", func(f *operate.AuditFilter) {
			f.TaskUUID, f.CaseUUID = taskID, caseID
		}},
		"Task": {"/v1/tasks/" + taskID.String() + "/audit?", func(f *operate.AuditFilter) { f.TaskUUID = taskID }},
		"Case": {"/v1/dlq/entry/" + caseID.String() + "/audit?", func(f *operate.AuditFilter) { f.CaseUUID = caseID }},
	} {
		t.Run(name, func(t *testing.T) {
			want := want
			c.adjust(&want)
			got := a.do(t, "GET", c.path+about, "")
			if diff := cmp.Diff(want, last[operate.AuditFilter](f)); diff != "" || got.body != "[]\n" {
				t.Errorf("answer is %s, filter (-want +got):\n%s", got.body, diff)
			}
		})
	}
}

func TestAuditOfNothing(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	for path, status := range map[string]int{
		"/v1/tasks/" + otherID.String() + "/audit":         200,
		"/v1/tasks/" + stepID.String() + "/audit":          404,
		"/v1/dlq/entry/" + otherCaseID.String() + "/audit": 200,
		"/v1/dlq/entry/" + stepID.String() + "/audit":      404,
	} {
		if got := a.do(t, "GET", path, ""); got.status != status {
			t.Errorf("%s is answered %d %s, want %d", path, got.status, got.body, status)
		}
	}
}

type departed struct{ *fake }

func (departed) Task(_ context.Context, id uuid.UUID, _ time.Duration) (*tasker.Task, error) {
	return nil, tasker.Errorf(tasker.CodeNotFound, "there is no task %s", id)
}

func (departed) Audit(context.Context, operate.AuditFilter) ([]operate.AuditRecord, error) {
	act := operate.AuditRecord{No: 1, At: noon, Kind: "cancel", Actor: "ann", Authenticated: operate.NotAuthenticated,
		TaskUUID: taskID}
	seen, hidden := act, act
	seen.Namespace, hidden.Namespace = "video", "secret"
	return []operate.AuditRecord{act, seen, hidden}, nil
}

func TestAuditOfWhatHasGone(t *testing.T) {
	t.Parallel()
	for namespace, want := range map[string]int{"": 3, "video": 1, "audio": 0} {
		secret, hash := access.Generate()
		key := access.Key{Name: "k", SHA256: hash, Permissions: []string{"read"}}
		if namespace != "" {
			key.Namespaces = []string{namespace}
		}
		keys, err := access.New([]access.Key{key})
		if err != nil {
			t.Fatal(err)
		}
		a := newAPI(t, departed{&fake{}}, httpapi.Options{Front: web.New(web.Options{Keys: keys})})
		for _, path := range []string{"/v1/tasks/" + taskID.String() + "/audit", "/v1/audit?task_uuid=" + taskID.String()} {
			got := a.do(t, "GET", path, "", "X-API-Key: "+secret)
			if n := strings.Count(got.body, `"kind"`); n != want || (got.status == 404) != (want == 0) {
				t.Errorf("%s with a key of %q is answered %d with %d acts, want %d: %s", path, namespace, got.status, n, want,
					got.body)
			}
		}
	}
}
