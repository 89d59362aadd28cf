package apitest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

const jobFailure = `{"original_job": {"camera_id": "front_door", "file_path": "/export/%[1]d.jpg",` +
	` "timestamp": "2024-01-15T10:30:00.000000"}, "error": "Connection refused: YOLO26 service unavailable",` +
	` "attempt_count": 3, "first_failed_at": "2024-01-15T10:30:01.000000",` +
	` "last_failed_at": "2024-01-15T10:%02[2]d:15.000000", "queue_name": "detection_queue",` +
	` "error_type": "ConnectionRefusedError", "stack_trace": "Traceback (most recent call last):\n  File ...",` +
	` "http_status": null, "response_body": null, "retry_delays": [1.0, 2.1, 4.3],` +
	` "context": {"detection_queue_depth": 15, "analysis_queue_depth": 3, "dlq_circuit_breaker_state": "closed"}}`

// TestRedisThereAndBack takes failed jobs from a list, sends them back to their consumer's queue unchanged, and
// recognises them when they fail again.
func TestRedisThereAndBack(t *testing.T) { onEveryStore(t, testRedisThereAndBack) }

func testRedisThereAndBack(t *testing.T, s *server) {
	r := redistest.Start(t)
	redis := func(command ...string) any {
		t.Helper()
		answer, err := redistest.Do(r.URL(), command...)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	b := deadletters.Of(s.Client)
	if _, err := b.SaveSource(s.ctx, deadletters.SourceRequest{Source: deadletters.Source{Name: "detection",
		Driver: "redis-list", URL: r.URL(), Queue: "dlq:detection_queue", Format: "job_failure",
		Targets: []string{"detection_queue"}}}); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		redis("RPUSH", "dlq:detection_queue", fmt.Sprintf(jobFailure, n, 30))
	}
	letters := func(state deadletters.LetterState, want int) (page *deadletters.LetterPage) {
		t.Helper()
		await.Until(t, fmt.Sprintf("%d letters that are %s", want, state), func() (ok bool) {
			var err error
			page, err = b.Letters(s.ctx, deadletters.LetterFilter{Selection: deadletters.Selection{Source: "detection",
				State: state}})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Letters) == want
		})
		return page
	}
	first := letters(deadletters.LetterOpen, 3)
	if n := redis("LLEN", "dlq:detection_queue"); n != int64(0) {
		t.Errorf("the list has %v messages after they were captured", n)
	}
	letter, err := b.Letter(s.ctx, first.Letters[0].LetterUUID)
	if err != nil || letter.Origin != "detection_queue" || letter.Format != "job_failure" || letter.Attempts != 3 ||
		letter.Failure.Type != "ConnectionRefusedError" {
		t.Fatalf("%v: the letter is %+v", err, letter)
	}
	for _, l := range first.Letters {
		if l.GroupID != letter.GroupID {
			t.Errorf("one cause has the groups %s and %s", l.GroupID, letter.GroupID)
		}
	}

	redrive, err := b.CreateRedrive(s.ctx, deadletters.RedriveRequest{Operation: deadletters.OpRedrive,
		Selection: deadletters.Selection{Namespace: "default", Groups: []string{letter.GroupID}}, Start: true,
		Plan: deadletters.Plan{ObserveSeconds: 0.01}})
	if err != nil {
		t.Fatal(err)
	}
	letters(deadletters.LetterRedriven, 3)
	var jobs []string
	for _, job := range redis("LRANGE", "detection_queue", "0", "-1").([]any) {
		jobs = append(jobs, job.(string))
		var of struct {
			CameraID string `json:"camera_id"`
		}
		if err := json.Unmarshal([]byte(job.(string)), &of); err != nil || of.CameraID != "front_door" ||
			strings.Contains(job.(string), "tasker") {
			t.Errorf("the consumer gets %s", job)
		}
	}
	if len(jobs) != 3 {
		t.Fatalf("the consumer gets %d jobs: %q", len(jobs), jobs)
	}

	// One fails again: its consumer writes the same job in another form and with another time.
	redis("DEL", "detection_queue")
	again := strings.Replace(fmt.Sprintf(jobFailure, 1, 45), `"camera_id": "front_door", `, "", 1)
	again = strings.Replace(again, `"timestamp": "2024-01-15T10:30:00.000000"`,
		`"timestamp":"2024-01-15T10:30:00.000000","camera_id":"front_door"`, 1)
	redis("RPUSH", "dlq:detection_queue", again)
	returned := letters(deadletters.LetterOpen, 1).Letters[0]
	if returned.Occurrences != 2 || returned.Replays != 1 {
		t.Errorf("the letter that died again is %+v", returned)
	}
	known := false
	for _, l := range first.Letters {
		known = known || l.LetterUUID == returned.LetterUUID
	}
	if !known {
		t.Error("the job that died again is another letter")
	}
	await.Until(t, "the count of what came back", func() bool {
		now, err := b.Redrive(s.ctx, redrive.RedriveUUID)
		if err != nil {
			t.Fatal(err)
		}
		return now.Counts.Returned == 1
	})

	// Redis remembers sends, and accepts the same letter again: that is another send.
	if _, err := b.CreateRedrive(s.ctx, deadletters.RedriveRequest{Operation: deadletters.OpRedrive, Start: true,
		Selection: deadletters.Selection{Namespace: "default", IDs: []uuid.UUID{returned.LetterUUID}},
		Plan:      deadletters.Plan{ObserveSeconds: 0.01}}); err != nil {
		t.Fatal(err)
	}
	letters(deadletters.LetterRedriven, 3)
	if got := fmt.Sprint(redis("LRANGE", "detection_queue", "0", "-1")); !strings.Contains(got, "/export/1.jpg") {
		t.Errorf("at the second redrive the consumer gets %s", got)
	}
}
