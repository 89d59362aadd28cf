package apitest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

const cards = `name: pay
namespace_name: shop
version: "1"
sensitive: [/card, "/lines/*/pin"]
steps:
  - {name: charge, handler: charge, retry: {max_attempts: 1}}
`

// Secrets in sensitive fields, and a plain text.
const cardSecret, letterSecret, headerSecret, plain = "4111222233334444", "iban-7788", "bearer-99", "plainly-visible"

// TestSensitive: no GET route shows marked values to a key without the permission; with it, on request, each shows them
// and records the look. The routes are those of the OpenAPI document.
func TestSensitive(t *testing.T) { onEveryStore(t, testSensitive) }

func testSensitive(t *testing.T, s *server) {
	task, story := failedPayment(t, s)
	letter := sensitiveLetter(t, s)
	permissions := []string{"submit", "read", "operate", "work", "dead-letters:read", "dead-letters:redrive",
		"dead-letters:edit", "dead-letters:discard", "sources:admin"}
	blind, seeing := s.keyed(t, permissions), s.keyed(t, append(permissions, "sensitive"))
	edits(t, s, blind, task.TaskUUID.String(), letter)

	names := strings.NewReplacer("{uuid}", task.TaskUUID.String(), "{id}", task.TaskUUID.String(),
		"{task_uuid}", task.TaskUUID.String(), "{step_uuid}", stepOf(t, s, task.TaskUUID.String()),
		"{dlq_entry_uuid}", story.CaseUUID.String(), "{letter_uuid}", letter.LetterUUID.String(),
		"{group_id}", letter.GroupID, "{event_id}", letter.LetterUUID.String(), "{queue_name}", "billing",
		"{namespace}", "shop", "{name}", "billing", "{version}", "1", "{redrive_uuid}", letter.LetterUUID.String(),
		"{replay_uuid}", letter.LetterUUID.String())
	shown := map[string]bool{}
	for path, query := range readingRoutes(t, s) {
		for _, q := range []url.Values{query, {"include": {"context"}}} {
			full := names.Replace(path)
			body, _ := read(s.ctx, blind, full, q)
			for _, secret := range []string{cardSecret, letterSecret, headerSecret} {
				if strings.Contains(body, secret) {
					t.Errorf("GET %s?%s shows %s: %s", full, q.Encode(), secret, body)
				}
			}
			clear, _ := read(tasker.ShowSensitive(s.ctx), seeing, full, q)
			shown[path] = shown[path] || strings.Contains(clear, cardSecret) || strings.Contains(clear, letterSecret)
		}
	}
	for _, path := range []string{"/v1/tasks", "/v1/tasks/{uuid}", "/v1/tasks/{uuid}/workflow_steps/{step_uuid}",
		"/v1/tasks/{uuid}/history", "/v1/dlq/task/{task_uuid}", "/v1/audit", "/api/v1/tasks/{id}", "/api/v1/executions/{id}",
		"/v1/dead-letters", "/v1/dead-letters/{letter_uuid}", "/v1/dead-letters/export", "/v1/groups/{group_id}"} {
		if !shown[path] {
			t.Errorf("GET %s shows nothing to a key that may see it", path)
		}
	}
	if _, err := blind.Task(tasker.ShowSensitive(s.ctx), task.TaskUUID, 0); tasker.ErrorCode(err) != tasker.CodeForbidden {
		t.Errorf("a key without the permission is answered %v", err)
	}
	acts, err := s.Audit(s.ctx, operate.AuditFilter{TaskUUID: task.TaskUUID, Kind: "see_sensitive"})
	if err != nil || len(acts) == 0 || acts[0].KeyName != "the-key" || acts[0].Authenticated != "key" {
		t.Errorf("the looks are %+v, %v", acts, err)
	}
	searches(t, s, blind, seeing)
	unmasking(t, s, blind, seeing)
}

// unmasking: a key without the permission cannot learn a value by rules, unmark fields of a source, or remove a source
// whose letters would then be shown.
func unmasking(t *testing.T, s *server, blind, seeing *tasker.Client) {
	t.Helper()
	b, source := deadletters.Of(blind), deadletters.Source{Name: "billing", Driver: "http", Namespace: "shop"}
	rule := deadletters.Rule{Namespace: "shop", Name: "by token", When: "true", GroupBy: []string{`header("authorization")`}}
	if _, err := b.SaveRule(s.ctx, deadletters.RuleRequest{Rule: rule}); err != nil {
		t.Fatal(err)
	}
	r := deadletters.Report{MessageID: "m2", Failure: deadletters.LetterFailure{Message: "declined"}}
	r.SetPayload([]byte("{}"))
	r.Headers = []deadletters.Header{{Name: "authorization", Value: headerSecret}}
	receipts, err := b.Report(s.ctx, deadletters.ReportRequest{Namespace: "shop", Source: "billing",
		Reports: []deadletters.Report{r}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/groups", "/v1/groups/" + receipts[0].GroupID} {
		if body, _ := read(s.ctx, blind, path, nil); strings.Contains(body, headerSecret) ||
			!strings.Contains(body, "by token: [masked]") {
			t.Errorf("GET %s is answered %s", path, body)
		}
	}
	rule.When = `header("authorization") startsWith "` + headerSecret[:3] + `"`
	trial, err := b.TestRule(s.ctx, deadletters.RuleTest{Rule: rule, GroupID: receipts[0].GroupID})
	if err != nil || trial.Tried != 1 || trial.Matched != 0 {
		t.Errorf("a rule is tried with %+v, %v", trial, err)
	}
	_, err = b.SaveSource(s.ctx, deadletters.SourceRequest{Source: source})
	if tasker.ErrorCode(err) != tasker.CodeForbidden {
		t.Errorf("a key without the permission has the source mask less: %v", err)
	}
	if err := b.DropSource(s.ctx, "shop", "billing", deadletters.Act{}); tasker.ErrorCode(err) != tasker.CodeConflict {
		t.Errorf("a source with sensitive fields is removed: %v", err)
	}
	if _, err := deadletters.Of(seeing).SaveSource(s.ctx, deadletters.SourceRequest{Source: source}); err != nil {
		t.Error(err)
	}
}

func failedPayment(t *testing.T, s *server) (*tasker.Task, *operate.Case) {
	t.Helper()
	s.register(t, cards)
	seen := make(chan string, 10)
	s.work(t, map[string]worker.Handler{"charge": func(_ context.Context, j *worker.Job) (any, error) {
		seen <- string(j.Parameters)
		return nil, &tasker.Failure{Message: "declined", Details: json.RawMessage(`{"request":` + string(j.Parameters) + `}`)}
	}})
	receipt := s.submit(t, tasker.TaskRequest{Name: "pay", Namespace: "shop", Context: json.RawMessage(
		`{"card":"` + cardSecret + `","lines":[{"pin":"` + cardSecret + `"}],"note":"` + plain + `"}`)})
	s.settled(t, receipt, tasker.TaskError)
	if got := <-seen; !strings.Contains(got, cardSecret) {
		t.Errorf("the worker got %s", got)
	}
	if _, err := s.EditContext(s.ctx, receipt.TaskUUID, tasker.EditContextRequest{NoRetry: true, EditedBy: "ann",
		Reason: "typo", Merge: json.RawMessage(`{"card":"` + cardSecret + `-2"}`)}); err != nil {
		t.Fatal(err)
	}
	task, err := s.Task(s.ctx, receipt.TaskUUID, 0)
	if err != nil {
		t.Fatal(err)
	}
	var story *operate.Case
	await.Until(t, "the case", func() bool {
		story, err = s.CaseOfTask(s.ctx, receipt.TaskUUID)
		return err == nil
	})
	return task, story
}

func sensitiveLetter(t *testing.T, s *server) deadletters.Receipt {
	t.Helper()
	b := deadletters.Of(s.Client)
	if _, err := b.SaveSource(s.ctx, deadletters.SourceRequest{Source: deadletters.Source{Name: "billing", Driver: "http",
		Namespace: "shop", Sensitive: []string{"/account/iban"}, SensitiveHeaders: []string{"Authorization"}}}); err != nil {
		t.Fatal(err)
	}
	r := deadletters.Report{MessageID: "m", Origin: "orders", Failure: deadletters.LetterFailure{Message: "declined"}}
	r.SetPayload([]byte(`{"account":{"iban":"` + letterSecret + `"},"note":"` + plain + `"}`))
	r.Headers = []deadletters.Header{{Name: "authorization", Value: headerSecret}}
	receipts, err := b.Report(s.ctx, deadletters.ReportRequest{Namespace: "shop", Source: "billing",
		Reports: []deadletters.Report{r}})
	if err != nil {
		t.Fatal(err)
	}
	return receipts[0]
}

// edits: a mask is never stored as a value, and an edit does not move a value to a visible place.
func edits(t *testing.T, s *server, blind *tasker.Client, task string, letter deadletters.Receipt) {
	t.Helper()
	for _, c := range []struct {
		path, body, at string
		status         int
	}{
		{"/v1/tasks/" + task + "/context", `{"reason":"x","edited_by":"x","context":{"card":"[masked]"}}`, "/context/card", 422},
		{"/v1/tasks/" + task + "/context", `{"reason":"x","edited_by":"x","merge":{"lines":[{"pin":"[masked]"}]}}`,
			"/merge/lines/0/pin", 422},
		{"/v1/dead-letters/" + letter.LetterUUID.String(), `{"patch":{"account":{"iban":"[masked]"}}}`,
			"/patch/account/iban", 422},
	} {
		if status, body := s.send(t, "PATCH", c.path, c.body, nil); status != c.status || !strings.Contains(body, c.at) {
			t.Errorf("%s of %s is answered %d %s", c.body, c.path, status, body)
		}
	}
	_, err := deadletters.Of(blind).EditLetter(s.ctx, letter.LetterUUID, deadletters.LetterEdit{Edit: deadletters.Edit{
		Patch: json.RawMessage(`[{"op":"copy","from":"/account","path":"/copy"}]`)}})
	if tasker.ErrorCode(err) != tasker.CodeForbidden {
		t.Errorf("a copy of a sensitive value is answered %v", err)
	}
	err = deadletters.Of(blind).DropSource(s.ctx, "shop", "billing", deadletters.Act{})
	if tasker.ErrorCode(err) != tasker.CodeConflict {
		t.Errorf("the source is removed: %v", err)
	}
}

// searches: only a key with the permission finds letters by masked values.
func searches(t *testing.T, s *server, blind, seeing *tasker.Client) {
	t.Helper()
	for name, f := range map[string]deadletters.Selection{"payload": {Text: letterSecret},
		"header": {HeaderName: "authorization", HeaderValue: headerSecret}} {
		for client, want := range map[*tasker.Client]int{blind: 0, seeing: 1} {
			page, err := deadletters.Of(client).Letters(s.ctx, deadletters.LetterFilter{Selection: f})
			if err != nil || len(page.Letters) != want {
				t.Errorf("a search by %s finds %d letters, %v; want %d", name, len(page.Letters), err, want)
			}
		}
	}
	page, err := deadletters.Of(blind).Letters(s.ctx, deadletters.LetterFilter{Selection: deadletters.Selection{
		Text: "declined"}})
	if err != nil || len(page.Letters) != 1 || !strings.Contains(string(page.Letters[0].Original.Payload), plain) {
		t.Errorf("a search by error finds %+v, %v", page, err)
	}
}

func stepOf(t *testing.T, s *server, task string) string {
	t.Helper()
	status, body := s.send(t, "GET", "/v1/tasks/"+task+"/workflow_steps", "", nil)
	var steps []tasker.Step
	if err := json.Unmarshal([]byte(body), &steps); err != nil || len(steps) != 1 {
		t.Fatalf("the steps are %d %s", status, body)
	}
	return steps[0].StepUUID.String()
}

// readingRoutes returns all finite GET routes, with their required queries.
func readingRoutes(t *testing.T, s *server) map[string]url.Values {
	t.Helper()
	_, body := s.send(t, "GET", "/openapi.json", "", nil)
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(body), &document); err != nil || len(document.Paths) < 40 {
		t.Fatalf("%v: %d paths", err, len(document.Paths))
	}
	endless := []string{"/v1/events", "/api/v1/executions/stream"} // tested with their events
	routes := map[string]url.Values{}
	for path, methods := range document.Paths {
		if methods["get"] != nil && !slices.Contains(endless, path) {
			routes[path] = url.Values{}
			if strings.HasPrefix(path, "/api/dlq/") || strings.HasPrefix(path, "/api/v1/dlq/") {
				routes[path].Set("namespace", "shop")
			}
		}
	}
	return routes
}

// read returns the answer, or "" and the error of a refusal.
func read(ctx context.Context, c *tasker.Client, path string, query url.Values) (string, error) {
	for _, kind := range []string{"application/json", "application/x-ndjson"} {
		body, err := c.Stream(ctx, tasker.Request{Verb: "read", Method: http.MethodGet, Path: path, Query: query}, kind)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(body)
		if closing := body.Close(); err == nil {
			err = closing
		}
		return string(text), err
	}
	return "", context.Canceled
}
