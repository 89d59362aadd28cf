package apitest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestTokenOfAnother: a key of one namespace can do nothing about steps held by workers of another one, nor about free
// steps, with any token and by any route; the answer does not reveal whether the step exists.
func TestTokenOfAnother(t *testing.T) { onEveryQueue(t, testTokenOfAnother) }

func testTokenOfAnother(t *testing.T, s *server) {
	victim, err := protocol.Of(s.Client).RegisterWorker(s.ctx,
		protocol.WorkerRegistration{Namespaces: []string{"b"}, Handlers: []string{"h"}})
	if err != nil {
		t.Fatal(err)
	}
	held := s.claimOne(t, victim.WorkerID, "b")
	ready := s.step(t, s.submit(t, tasker.TaskRequest{TaskType: "other", Namespace: "b"}), "other")

	door := s.doorFor(t, "a")
	var me struct {
		WorkerID uuid.UUID `json:"worker_id"`
	}
	door.must(t, "POST", "/internal/workers/register", `{"name":"intruder"}`, &me)
	own := s.claimOne(t, me.WorkerID, "a")
	_, code, _ := strings.Cut(own.Token, ".")
	now := strconv.FormatInt(time.Now().UnixMicro(), 10)

	steps := map[string]uuid.UUID{"Held": held.StepUUID, "NeverHandedOut": ready.StepUUID,
		"Unknown": uuid.Must(uuid.NewV7())}
	for name, token := range map[string]string{"True": held.Token, "Own": own.Token, "First": "1", "Time": now,
		"Empty": "",
		"Junk":  "1.é.\\\"", "TimeWithOwnCode": now + "." + code, "SecondWithOwnCode": "2." + code,
		"Long": strings.Repeat("9", 250)} {
		var first map[string]string // the answers about one of the steps
		for of, step := range steps {
			got := door.intrude(t, me.WorkerID, step, token)
			if first == nil {
				first = got
			}
			for verb, answer := range got {
				if answer != first[verb] {
					t.Errorf("%s of a step that is %s, under the token %s, is answered\n %s\nof another step\n %s",
						verb, of, name, answer, first[verb])
				}
				if !strings.Contains(answer, "stale_token") && !strings.Contains(answer, `"lost"`) {
					t.Errorf("%s under the token %s is answered %s", verb, name, answer)
				}
			}
			// Embedded, there are no keys.
			settled, err := s.engine.Settle(s.ctx, completion(me.WorkerID, step, token))
			if err != nil || settled[0].State != "" || tasker.ErrorCode(settled[0].Error) != tasker.CodeStaleToken {
				t.Errorf("embedded, the result is answered %+v, %v", settled, err)
			}
			start := protocol.StartRequest{WorkerID: me.WorkerID, Steps: []protocol.LeaseRef{{StepUUID: step, Token: token}}}
			if started, err := s.engine.Start(s.ctx, start); err != nil || started[0].Status != protocol.LeaseLost {
				t.Errorf("embedded, the start is answered %+v, %v", started, err)
			}
		}
	}
	for name, want := range map[uuid.UUID]tasker.StepState{held.TaskUUID: tasker.StepAssigned,
		ready.TaskUUID: tasker.StepEnqueued} {
		steps, err := s.Steps(s.ctx, name)
		if err != nil || steps[0].State != want || steps[0].Attempts != 0 {
			t.Errorf("after all that the step is %+v, %v; want %s", steps, err, want)
		}
	}
	for who, a := range map[uuid.UUID]protocol.Assignment{victim.WorkerID: held, me.WorkerID: own} {
		// the true holders go on
		settled, err := protocol.Of(s.Client).Settle(s.ctx, completion(who, a.StepUUID, a.Token))
		if err != nil || settled[0].Error != nil {
			t.Errorf("the holder's result is answered %+v, %v", settled, err)
		}
	}
}

// completion is the report that a step is done.
func completion(worker, step uuid.UUID, token string) protocol.SettleRequest {
	result := protocol.StepResult{StepUUID: step, Token: token, Status: protocol.ResultCompleted}
	return protocol.SettleRequest{WorkerID: worker, Results: []protocol.StepResult{result}}
}

// claimOne gives a worker a task of a namespace, assigned.
func (s *server) claimOne(t *testing.T, worker uuid.UUID, namespace string) protocol.Assignment {
	t.Helper()
	s.submit(t, tasker.TaskRequest{TaskType: "h", Namespace: namespace})
	polled, err := protocol.Of(s.Client).Poll(s.ctx, protocol.PollRequest{WorkerID: worker, WaitMS: 5000})
	if err != nil || len(polled.Steps) != 1 || polled.Steps[0].State != tasker.StepAssigned {
		t.Fatalf("the poll brings %+v, %v", polled, err)
	}
	return polled.Steps[0]
}

func (s *server) doorFor(t *testing.T, namespace string) *server {
	t.Helper()
	secret, hash := access.Generate()
	ring, err := access.New(
		[]access.Key{{Name: "worker", SHA256: hash, Permissions: []string{"work"}, Namespaces: []string{namespace}}})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(httpapi.New(s.engine,
		httpapi.Options{Front: web.New(web.Options{Keys: ring, KeyUse: s.engine})}))
	t.Cleanup(door.Close)
	return &server{Client: s.Client, Backend: s.Backend, queueClient: s.queueClient, engine: s.engine, url: door.URL,
		ctx: s.ctx, http: &http.Client{Transport: withKey(secret)}}
}

type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-API-Key", string(k))
	return http.DefaultTransport.RoundTrip(r)
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// intrude sends every report about a step, and returns the answers without UUIDs.
func (s *server) intrude(t *testing.T, worker, step uuid.UUID, token string) map[string]string {
	t.Helper()
	lease := fmt.Sprintf(`"step_uuid":%q,"token":%s`, step, quoted(t, token))
	native, queue := "/internal/workers/"+worker.String(), "/api/v1/workers/"+worker.String()
	ofTask := fmt.Sprintf(`"task_id":%q,`, step) + lease
	out := map[string]string{}
	for verb, body := range map[string]string{
		"start": `{` + lease + `}`, "start ": `{"steps":[{` + lease + `}]}`,
		"progress":  `{` + lease + `,"progress_percent":50}`,
		"heartbeat": `{"steps":[{` + lease + `}]}`, "result": `{` + lease + `,"status":"completed","result":1}`,
		"result ": `{"results":[{` + lease + `,"status":"failed","error":{"message":"no","retryable":false}},{` + lease +
			`,"status":"released"}]}`,
		"result  ": `{` + lease + `,"status":"snoozed","snooze_seconds":60}`,
	} {
		status, text := s.send(t, "POST", native+"/"+strings.TrimSpace(verb), body, nil)
		out["native "+verb] = strconv.Itoa(status) + " " + uuids.ReplaceAllString(text, "X")
	}
	if token == "" {
		return out // there, a missing token means the worker's own lease
	}
	for verb, body := range map[string]string{"start": `{` + ofTask + `}`,
		"progress": `{` + ofTask + `,"progress_percent":50}`,
		"result":   `{` + ofTask + `,"status":"completed","result":1}`} {
		status, text := s.send(t, "POST", queue+"/"+verb, body, nil)
		out["queue "+verb] = strconv.Itoa(status) + " " + uuids.ReplaceAllString(text, "X")
	}
	return out
}

// TestKeyOfAnotherNamespace: another worker's ID does not help a limited key.
func TestKeyOfAnotherNamespace(t *testing.T) { onEveryStore(t, testKeyOfAnotherNamespace) }

func testKeyOfAnotherNamespace(t *testing.T, s *server) {
	victim, err := protocol.Of(s.Client).RegisterWorker(s.ctx,
		protocol.WorkerRegistration{Name: "victim", Namespaces: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	held := s.claimOne(t, victim.WorkerID, "b")
	door := s.doorFor(t, "a")
	theirs := door.intrude(t, victim.WorkerID, held.StepUUID, held.Token)
	nobodys := door.intrude(t, uuid.New(), held.StepUUID, held.Token)
	for verb, answer := range theirs {
		if !strings.HasPrefix(answer, "404 ") || answer != nobodys[verb] {
			t.Errorf("%s of another's worker is answered %s\nof no worker\n%s", verb, answer, nobodys[verb])
		}
	}
}
