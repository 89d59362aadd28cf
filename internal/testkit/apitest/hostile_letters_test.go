package apitest_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	_ "github.com/taskerhq/tasker/embedded/kafka"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
)

var lettersOf = map[string]base{
	"post /v1/dead-letters": {"",
		`{"source":"t","reports":[{"payload":{},"failure":{"error_type":"E","message":"m"}}]}`},
	"patch /v1/dead-letters/{letter_uuid}":        {"", `{"patch":{"a":1}}`},
	"post /v1/dead-letters/{letter_uuid}/discard": {"", `{"reason":"x"}`},
	"post /v1/dead-letters/{letter_uuid}/restore": {"", `{}`},
	"patch /v1/groups/{group_id}":                 {"", `{"note":"x"}`},
	"patch /v1/groups":                            {"", `{"groups":["{other_group}"],"note":"x"}`},
	"post /v1/groups/{group_id}/merge":            {"", `{"groups":["{other_group}"]}`},
	"post /v1/groups/{group_id}/unmerge":          {"", `{}`},
	"post /v1/groups/{group_id}/split":            {"", `{"when":"code == \"X\""}`},
	"post /v1/groups/{group_id}/unsplit":          {"", `{}`},
	"post /v1/rules":                              {"", `{"name":"t","when":"false"}`},
	"post /v1/rules/test":                         {"", `{"rule":{"name":"t","when":"true"},"failure":{"message":"m"}}`},
	"post /v1/webhooks/{name}/test":               {"", `{}`},
	"post /v1/redrives/preview":                   {"", discardAll},
	"post /v1/redrives":                           {"", discardAll},
	"patch /v1/redrives/{redrive_uuid}":           {"", `{"action":"start"}`},
	"post /v1/replays/preview":                    {"", `{"source":"log","since":"2026-03-01T12:00:00Z","headers":[{"name":"a","value":"b"}]}`},
	"post /v1/replays":                            {"", `{"source":"log","key":"k","intake":{"task_type":"a"}}`},
	"patch /v1/replays/{replay_uuid}":             {"", `{"action":"start"}`},
	"post /v1/sources":                            {"", `{"name":"t","driver":"http"}`},
	"post /v1/sources/{namespace}/{name}/test":    {"", `{}`},
	"post /v1/sources/{namespace}/{name}/pause":   {"", `{}`},
	"post /v1/sources/{namespace}/{name}/resume":  {"", `{}`},
	"post /v1/policies":                           {"", `{"source":"t","strategy":"manual"}`},
	"post /api/v1/dlq/retry":                      {"", `{"event_ids":["{event_id}"]}`},
	"post /api/v1/dlq/retry-policy":               {"", `{"topic":"t","strategy":"manual"}`},
}

const discardAll = `{"operation":"discard","reason":"x","selection":{"namespace":"default","source":"t"}}`

var queryOf = map[string]string{
	"delete /v1/policies":                      "?source=t",
	"delete /api/v1/dlq/messages/{event_id}":   "?reason=x",
	"post /api/dlq/move/{queue_name}":          "?target_queue={target}",
	"post /api/dlq/move/{queue_name}/{job_id}": "?target_queue={target}",
}

func init() { maps.Copy(baseOf, lettersOf) }

// prepareLetters makes two open letters of different groups, a redrive that is not started, and a source with a policy.
// For a path that undoes an act it does that act first.
func (h *attacker) prepareLetters() {
	h.t.Helper()
	if !strings.HasPrefix(h.path, "/v1/dead-letters") && !strings.HasPrefix(h.path, "/v1/groups") &&
		!strings.HasPrefix(h.path, "/v1/redrives") && !strings.HasPrefix(h.path, "/v1/replays") &&
		!strings.HasPrefix(h.path, "/v1/sources") &&
		!strings.HasPrefix(h.path, "/v1/policies") && !strings.HasPrefix(h.path, "/v1/rules") &&
		!strings.HasPrefix(h.path, "/api/dlq/") && !strings.HasPrefix(h.path, "/api/v1/dlq/") {
		return
	}
	target := h.consumer()
	h.made("/v1/sources", `{"name":"t","driver":"http","targets":["`+target+`"]}`, nil)
	h.made("/v1/policies", `{"source":"t","strategy":"manual"}`, nil)
	h.made("/v1/rules", `{"name":"t","when":"false"}`, nil)
	var reported struct {
		Results []struct {
			LetterUUID string `json:"letter_uuid"`
			GroupID    string `json:"group_id"`
		} `json:"results"`
	}
	some := uuid.NewString()
	kind := strings.Map(func(r rune) rune { return 'a' + r%16 }, some) // letters only: numbers do not make a group
	h.made("/v1/dead-letters", `{"source":"t","reports":[`+
		`{"message_id":"1`+some+`","origin":"`+target+`","payload":{},"failure":{"error_type":"A`+kind+`","message":"m"}},`+
		`{"message_id":"2`+some+`","origin":"`+target+`","payload":{},"failure":{"error_type":"B`+kind+`","message":"m"}}]}`, &reported)
	letter, group, other := reported.Results[0].LetterUUID, reported.Results[0].GroupID, reported.Results[1].GroupID
	var redrive struct {
		RedriveUUID string `json:"redrive_uuid"`
	}
	h.made("/v1/redrives", discardAll, &redrive)
	switch {
	case strings.HasPrefix(h.path, "/api/dlq/restore/"):
		h.made("/v1/dead-letters/"+letter+"/discard", `{"reason":"x"}`, nil)
	case strings.HasSuffix(h.path, "/restore"):
		h.made("/v1/dead-letters/"+letter+"/discard", `{"reason":"x"}`, nil)
	case strings.HasSuffix(h.path, "/unsplit"): // later letters are in the group that the split makes
		h.made("/v1/groups/"+group+"/split", `{"when":"true"}`, nil)
		h.made("/v1/dead-letters", `{"source":"t","reports":[`+
			`{"message_id":"3`+some+`","payload":{},"failure":{"error_type":"A`+kind+`","message":"m"}}]}`, &reported)
		group = reported.Results[0].GroupID
	case strings.HasSuffix(h.path, "/unmerge"):
		h.made("/v1/groups/"+other+"/merge", `{"groups":["`+group+`"]}`, nil)
	}
	maps.Copy(h.known, map[string]any{"letter_uuid": letter, "group_id": group, "other_group": other,
		"redrive_uuid": redrive.RedriveUUID, "replay_uuid": h.replay(some), "queue_name": "t", "job_id": letter,
		"target":   target,
		"event_id": "1" + some})
}

// replay makes a source "log" of a topic with a record, and a replay that is not started, in a separate namespace: the
// number per namespace is bounded. For other paths it returns a UUID without an object.
func (h *attacker) replay(namespace string) string {
	if !strings.HasPrefix(h.path, "/v1/replays") {
		return uuid.NewString()
	}
	h.t.Helper()
	url := kafkatest.Shared(h.t)
	if h.topic == "" {
		h.topic = kafkatest.NewTopic(h.t, url, 1)
		record := &kgo.Record{Topic: h.topic, Value: []byte("{}")}
		if err := kafkatest.Client(h.t, url).ProduceSync(h.t.Context(), record).FirstErr(); err != nil {
			h.t.Fatal(err)
		}
	}
	for _, of := range []string{"default", namespace} {
		h.made("/v1/sources", `{"namespace":"`+of+`","name":"log","driver":"kafka","paused":true,"url":"`+url+
			`","queue":"`+h.topic+`"}`, nil)
	}
	var made struct {
		ReplayUUID string `json:"replay_uuid"`
	}
	h.made("/v1/replays", `{"namespace":"`+namespace+`","source":"log"}`, &made)
	return made.ReplayUUID
}

func (h *attacker) consumer() string {
	if h.takes == "" {
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		h.t.Cleanup(s.Close)
		h.takes = s.URL
	}
	return h.takes
}

func (h *attacker) made(path, body string, into any) {
	h.t.Helper()
	resp, err := http.Post(h.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		h.t.Fatalf("POST %s: %d %s, %v", path, resp.StatusCode, answer, err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			h.t.Fatal(err)
		}
	}
}
