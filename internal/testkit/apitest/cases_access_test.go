package apitest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/remote"
)

func (s *server) keyed(t *testing.T, permissions []string, namespaces ...string) *tasker.Client {
	t.Helper()
	secret, hash := access.Generate()
	ring, err := access.New(
		[]access.Key{{Name: "the-key", SHA256: hash, Permissions: permissions, Namespaces: namespaces}})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(httpapi.New(s.engine,
		httpapi.Options{Front: web.New(web.Options{Keys: ring, KeyUse: s.engine}),
			DeadLetters: s.engine.DeadLetters(), Sensitive: s.engine}))
	t.Cleanup(door.Close)
	client, err := remote.Dial(door.URL, &remote.Options{APIKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// TestCasesOfOneNamespace: a key of one namespace sees the cases of that namespace only.
func TestCasesOfOneNamespace(t *testing.T) { onEveryStore(t, testCasesOfOneNamespace) }

func testCasesOfOneNamespace(t *testing.T, s *server) {
	open := func(namespace string) *operate.Case {
		t.Helper()
		receipt := s.submit(t, tasker.TaskRequest{TaskType: "nobody", Namespace: namespace})
		opened, err := s.OpenCase(s.ctx, receipt.TaskUUID, operate.OpenCaseRequest{Reason: "odd", OpenedBy: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	own, other := open("video"), open("audio")
	key := s.keyed(t, []string{"read", "operate"}, "video")

	cases, err := operate.Of(key).Cases(s.ctx, operate.CaseFilter{})
	if err != nil || len(cases) != 1 || cases[0].CaseUUID != own.CaseUUID {
		t.Errorf("the key sees %+v, %v", cases, err)
	}
	if queue, err := operate.Of(key).InvestigationQueue(s.ctx, operate.CaseFilter{}); err != nil || len(queue) != 1 ||
		queue[0].CaseUUID != own.CaseUUID {
		t.Errorf("the key's queue is %+v, %v", queue, err)
	}
	if stats, err := operate.Of(key).CaseStats(s.ctx, operate.CaseFilter{}); err != nil || len(stats) != 1 ||
		stats[0].TotalEntries != 1 {
		t.Errorf("the key's stats are %+v, %v", stats, err)
	}
	for _, id := range []uuid.UUID{other.CaseUUID, uuid.New()} {
		if _, err := operate.Of(key).UpdateCase(s.ctx, id,
			operate.CaseUpdate{ResolutionStatus: tasker.CaseCancelled}); tasker.ErrorCode(err) != tasker.CodeNotFound {
			t.Errorf("the case %s is changed: %v", id, err)
		}
		if _, err := operate.Of(key).Audit(s.ctx, operate.AuditFilter{CaseUUID: id}); tasker.ErrorCode(
			err) != tasker.CodeNotFound {
			t.Errorf("the trail of %s is answered %v", id, err)
		}
	}
	if _, err := operate.Of(key).CaseOfTask(s.ctx, other.TaskUUID); tasker.ErrorCode(err) != tasker.CodeNotFound {
		t.Errorf("the other case is answered %v", err)
	}
	if _, err := operate.Of(key).DetectStaleness(s.ctx,
		operate.DetectRequest{DryRun: true}); tasker.ErrorCode(err) != tasker.CodeForbidden {
		t.Errorf("the detector is run: %v", err)
	}
	if _, err := operate.Of(key).UpdateCase(s.ctx, own.CaseUUID,
		operate.CaseUpdate{ResolutionStatus: tasker.CaseCancelled}); err != nil {
		t.Error(err)
	}
	// The default actor is the key.
	acts, err := operate.Of(key).Audit(s.ctx, operate.AuditFilter{CaseUUID: own.CaseUUID, Limit: 1})
	if err != nil || len(acts) != 1 || acts[0].Actor != "the-key" || acts[0].After != "cancelled" {
		t.Errorf("the trail is %+v, %v", acts, err)
	}
}

// TestCasesWhileTheDatabaseIsDown: an outage never looks like an empty list.
func TestCasesWhileTheDatabaseIsDown(t *testing.T) { onEveryStore(t, testCasesWhileTheDatabaseIsDown) }

func testCasesWhileTheDatabaseIsDown(t *testing.T, s *server) {
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "nobody"})
	opened, err := s.OpenCase(s.ctx, receipt.TaskUUID, operate.OpenCaseRequest{Reason: "odd", OpenedBy: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.engine.Close(); err != nil {
		t.Fatal(err)
	}
	task, entry := receipt.TaskUUID.String(), opened.CaseUUID.String()
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/v1/dlq", ""},
		{"GET", "/v1/dlq?namespace=nowhere", ""},
		{"GET", "/v1/dlq/stats", ""},
		{"GET", "/v1/dlq/investigation-queue", ""},
		{"GET", "/v1/dlq/staleness", ""},
		{"GET", "/v1/dlq/task/" + task, ""},
		{"GET", "/v1/audit", ""},
		{"GET", "/v1/tasks/" + task + "/audit", ""},
		{"GET", "/v1/dlq/entry/" + entry + "/audit", ""},
		{"POST", "/v1/dlq/task/" + task, `{"reason":"x","opened_by":"x"}`},
		{"POST", "/v1/dlq/staleness/detect", `{"dry_run":true}`},
		{"PATCH", "/v1/dlq/entry/" + entry, `{"resolution_notes":"x"}`},
	} {
		status, body := s.send(t, r.method, r.path, r.body, nil)
		var problem tasker.Error
		if err := json.Unmarshal([]byte(body), &problem); err != nil || status != http.StatusServiceUnavailable ||
			problem.Code != tasker.CodeUnavailable {
			t.Errorf("%s %s is answered %d %s", r.method, r.path, status, strings.TrimSpace(body))
		}
	}
}
