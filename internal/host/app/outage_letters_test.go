package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
)

// deadLetterOperations calls the operations on dead letters with existing letters, groups and redrives.
func (n *node) deadLetterOperations(t *testing.T) map[string][2]string {
	t.Helper()
	ask := func(path, body string, into any) {
		t.Helper()
		resp, answer := n.send(t, http.MethodPost, path, body)
		if resp.StatusCode >= 300 {
			t.Fatalf("POST %s: %d %s", path, resp.StatusCode, answer)
		}
		if into != nil {
			if err := json.Unmarshal([]byte(answer), into); err != nil {
				t.Fatal(err)
			}
		}
	}
	var reported struct {
		Results []struct {
			LetterUUID string `json:"letter_uuid"`
			GroupID    string `json:"group_id"`
		} `json:"results"`
	}
	const report = `{"source":"web","reports":[` +
		`{"message_id":"1","payload":{},"failure":{"error_type":"A","message":"a"}},` +
		`{"message_id":"2","payload":{},"failure":{"error_type":"B","message":"b"}}]}`
	ask("/v1/dead-letters", report, &reported)
	ask("/v1/dead-letters", strings.Replace(report, "web", "still", 1), nil) // stays untouched
	queued := reported
	ask("/v1/dead-letters", strings.Replace(report, "web", "queued", 1), &queued)
	job := "/queued/" + queued.Results[0].LetterUUID
	ask("/v1/sources", `{"name":"spare","driver":"http"}`, nil)
	ask("/v1/policies", `{"source":"web","origin":"spare","strategy":"manual"}`, nil)
	var redrive struct {
		RedriveUUID string `json:"redrive_uuid"`
	}
	const selected = `{"operation":"discard","reason":"a test","selection":{"namespace":"default","source":"still"}}`
	ask("/v1/redrives", selected, &redrive)
	ask("/v1/rules", `{"name":"spare","when":"false"}`, nil)
	ask("/v1/rules", `{"name":"web","when":"false"}`, nil)
	const third = `{"source":"web","reports":[{"payload":{},"failure":{"error_type":"C","message":"c"}}]}`
	part := reported
	ask("/v1/dead-letters", third, &part)
	ask("/v1/groups/"+part.Results[0].GroupID+"/split", `{"when":"true"}`, nil)
	ask("/v1/dead-letters", third, &part) // later ones join the group of the split
	letter := "/v1/dead-letters/" + reported.Results[0].LetterUUID
	group, other := "/v1/groups/"+reported.Results[0].GroupID, reported.Results[1].GroupID
	replay := "/v1/replays/" + n.replay(t, ask)
	at, web, spare := "/v1/redrives/"+redrive.RedriveUUID, "/v1/sources/default/web", "/v1/sources/default/spare"
	return map[string][2]string{
		"GET /api/dlq/stats":                          {"/api/dlq/stats", ""},
		"GET /api/dlq/jobs/{queue_name}":              {"/api/dlq/jobs/queued", ""},
		"POST /api/dlq/requeue/{queue_name}":          {"/api/dlq/requeue/queued", ""},
		"POST /api/dlq/requeue/{queue_name}/{job_id}": {"/api/dlq/requeue" + job, ""},
		"POST /api/dlq/requeue-all/{queue_name}":      {"/api/dlq/requeue-all/queued", ""},
		"POST /api/dlq/move/{queue_name}":             {"/api/dlq/move/queued?target_queue=x", ""},
		"POST /api/dlq/move/{queue_name}/{job_id}":    {"/api/dlq/move" + job + "?target_queue=x", ""},
		"DELETE /api/dlq/{queue_name}":                {"/api/dlq/queued", ""},
		"DELETE /api/dlq/jobs/{queue_name}/{job_id}":  {"/api/dlq/jobs" + job, ""},
		"POST /api/dlq/restore/{queue_name}":          {"/api/dlq/restore/queued", ""},
		"POST /api/dlq/restore/{queue_name}/{job_id}": {"/api/dlq/restore" + job, ""},
		"GET /api/v1/dlq/stats":                       {"/api/v1/dlq/stats", ""},
		"GET /api/v1/dlq/topics":                      {"/api/v1/dlq/topics", ""},
		"GET /api/v1/dlq/messages":                    {"/api/v1/dlq/messages", ""},
		"GET /api/v1/dlq/messages/{event_id}":         {"/api/v1/dlq/messages/1?source=still", ""},
		"DELETE /api/v1/dlq/messages/{event_id}":      {"/api/v1/dlq/messages/2?source=still&reason=x", ""},
		"POST /api/v1/dlq/retry":                      {"/api/v1/dlq/retry", `{"event_ids":["1"],"source":"still"}`},
		"POST /api/v1/dlq/retry-policy":               {"/api/v1/dlq/retry-policy", `{"topic":"t","strategy":"manual"}`},
		"POST /v1/dead-letters":                       {"/v1/dead-letters", report},
		"GET /v1/dead-letters":                        {"/v1/dead-letters", ""},
		"GET /v1/dead-letters/export":                 {"/v1/dead-letters/export", ""},
		"GET /v1/dead-letters/{letter_uuid}":          {letter, ""},
		"PATCH /v1/dead-letters/{letter_uuid}":        {letter, `{"patch":{"a":1}}`},
		"POST /v1/dead-letters/{letter_uuid}/discard": {letter + "/discard", `{"reason":"a test"}`},
		"POST /v1/dead-letters/{letter_uuid}/restore": {letter + "/restore", ""},
		"GET /v1/groups":                              {"/v1/groups", ""},
		"GET /v1/groups/{group_id}":                   {group, ""},
		"PATCH /v1/groups/{group_id}":                 {group, `{"note":"looked at"}`},
		"PATCH /v1/groups":                            {"/v1/groups", `{"filter":{"state":"open"},"note":"seen"}`},
		"POST /v1/groups/{group_id}/merge":            {group + "/merge", `{"groups":["` + other + `"]}`},
		"POST /v1/groups/{group_id}/unmerge":          {"/v1/groups/" + other + "/unmerge", ""},
		"POST /v1/groups/{group_id}/unsplit":          {"/v1/groups/" + part.Results[0].GroupID + "/unsplit", ""},
		"POST /v1/groups/{group_id}/split":            {group + "/split", `{"when":"true"}`},
		"GET /v1/rules":                               {"/v1/rules", ""},
		"POST /v1/rules":                              {"/v1/rules", `{"name":"more","when":"false"}`},
		"POST /v1/rules/test": {"/v1/rules/test",
			`{"rule":{"name":"x","when":"true"},"failure":{"message":"m"}}`},
		"GET /v1/rules/{namespace}/{name}":           {"/v1/rules/default/web", ""},
		"DELETE /v1/rules/{namespace}/{name}":        {"/v1/rules/default/spare", ""},
		"GET /v1/dead-letters/{letter_uuid}/explain": {letter + "/explain", ""},
		"GET /v1/redrives/{redrive_uuid}/explain":    {at + "/explain", ""},
		"POST /v1/redrives/preview":                  {"/v1/redrives/preview", selected},
		"POST /v1/redrives":                          {"/v1/redrives", selected},
		"GET /v1/redrives":                           {"/v1/redrives", ""},
		"GET /v1/redrives/{redrive_uuid}":            {at, ""},
		"PATCH /v1/redrives/{redrive_uuid}":          {at, `{"action":"start"}`},
		"POST /v1/replays/preview":                   {"/v1/replays/preview", `{"source":"log"}`},
		"POST /v1/replays":                           {"/v1/replays", `{"source":"log"}`},
		"GET /v1/replays":                            {"/v1/replays", ""},
		"GET /v1/replays/{replay_uuid}":              {replay, ""},
		"PATCH /v1/replays/{replay_uuid}":            {replay, `{"action":"start"}`},
		"GET /v1/redrives/{redrive_uuid}/items":      {at + "/items", ""},
		"GET /v1/sources":                            {"/v1/sources", ""},
		"POST /v1/sources":                           {"/v1/sources", `{"name":"more","driver":"http"}`},
		"GET /v1/sources/{namespace}/{name}":         {web, ""},
		"DELETE /v1/sources/{namespace}/{name}":      {spare, ""},
		"POST /v1/sources/{namespace}/{name}/test":   {web + "/test", ""},
		"POST /v1/sources/{namespace}/{name}/pause":  {web + "/pause", ""},
		"POST /v1/sources/{namespace}/{name}/resume": {web + "/resume", ""},
		"GET /v1/policies":                           {"/v1/policies", ""},
		"POST /v1/policies":                          {"/v1/policies", `{"source":"web","strategy":"manual"}`},
		"DELETE /v1/policies":                        {"/v1/policies?source=web&origin=spare", ""},
	}
}

// replay makes a source "log" of a topic with one record, and an unstarted replay. It returns its UUID.
func (n *node) replay(t *testing.T, ask func(path, body string, into any)) string {
	t.Helper()
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1)
	record := &kgo.Record{Topic: topic, Value: []byte("{}")}
	if err := kafkatest.Client(t, url).ProduceSync(t.Context(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	ask("/v1/sources", `{"name":"log","driver":"kafka","url":"`+url+`","queue":"`+topic+`","paused":true}`, nil)
	var made struct {
		ReplayUUID string `json:"replay_uuid"`
	}
	ask("/v1/replays", `{"source":"log"}`, &made)
	return made.ReplayUUID
}
