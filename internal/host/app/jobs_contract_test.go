package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

const (
	detectionDLQ = "dlq:detection_queue"
	analysisDLQ  = "dlq:analysis_queue"
	overflowDLQ  = "dlq:overflow:detection_queue"
)

type jobStory struct {
	*jobServer
	lists
}

func (s jobStory) at(t *testing.T) jobStory {
	t.Helper()
	s = jobStory{s.with(t, s.key), lists{t, s.on}}
	for _, q := range []string{detectionDLQ, analysisDLQ, overflowDLQ} {
		s.ok("DELETE", "/api/dlq/"+q)
	}
	s.lists.do("DEL", "detection_queue", "analysis_queue", "spare_queue")
	return s
}

func (s jobStory) fail(queue, camera, text string) {
	s.jobServer.t.Helper()
	body, err := json.Marshal(failure(queue, camera, text))
	if err != nil {
		s.jobServer.t.Fatal(err)
	}
	s.add("dlq:"+queue, string(body))
}

func (s jobStory) add(list, entry string) {
	s.jobServer.t.Helper()
	want := len(s.jobs(list)) + 1
	s.lists.do("RPUSH", list, entry)
	// The answer waits a second for the capture (TestCatchUpWithASlowBroker), which takes longer on a busy machine.
	await.Until(s.jobServer.t, "a job that was added to "+list, func() bool { return len(s.jobs(list)) == want })
}

// TestJobsContract covers the uses of /api/dlq by applications that manage failed jobs. A name with Differs marks a
// deliberate difference; see docs/reference/dlq-api.md.
func TestJobsContract(t *testing.T) {
	t.Parallel()
	onJobStores(t, func(t *testing.T, dsn string) {
		redis := redistest.Start(t)
		server := startJobs(t, dsn, redis.URL(), func(c *config.Config) {
			c.DLQ.MaxRequeueIterations = 3
			for i := range c.Sources {
				c.Sources[i].Targets = []string{"spare_queue"}
			}
		}, detectionDLQ, analysisDLQ, overflowDLQ, "dlq:stats", "dlq:jobs")
		s := jobStory{server, lists{t, redis}}
		for _, part := range []func(*testing.T, jobStory){contractStats, contractJobs, contractRequeue,
			contractRequeueAll, contractClear, contractNamesOfRoutes, contractPatterns, contractMonitoring, contractOutage} {
			part(t, s)
		}
	})
}

func contractStats(t *testing.T, s jobStory) {
	t.Run("Stats/Members", func(t *testing.T) {
		s := s.at(t)
		for range 2 {
			s.fail("detection_queue", "a", "e")
		}
		s.fail("analysis_queue", "b", "e")
		s.ok("GET", "/api/dlq/stats").has(t, object{"detection_queue_count": 2.0, "analysis_queue_count": 1.0,
			"total_count": 3.0})
	})
	t.Run("Stats/ZeroWithoutJobs", func(t *testing.T) {
		s.at(t).ok("GET", "/api/dlq/stats").has(t, object{"detection_queue_count": 0.0, "analysis_queue_count": 0.0,
			"total_count": 0.0})
	})
	t.Run("Stats/OverflowIsCounted_Differs", func(t *testing.T) {
		s := s.at(t)
		s.add(overflowDLQ,
			`{"original_queue":"detection_queue","data":"{}","reason":"queue_overflow","overflow_policy":"dlq"}`)
		s.ok("GET", "/api/dlq/stats").has(t, object{"detection_queue_count": 0.0, "total_count": 1.0})
	})
}

func contractJobs(t *testing.T, s jobStory) {
	t.Run("Jobs/Members", func(t *testing.T) {
		s := s.at(t)
		s.fail("detection_queue", "front_door", "Connection refused")
		page := s.ok("GET", "/api/dlq/jobs/"+detectionDLQ)
		page.has(t, object{"queue_name": detectionDLQ})
		pagination, _ := page["pagination"].(map[string]any)
		object(pagination).has(t, object{"total": 1.0, "limit": 100.0, "offset": 0.0, "has_more": false})
		if got := page.names(); !slices.Contains(got, "items") {
			t.Errorf("%q", got)
		}
	})
	t.Run("Jobs/JobFailure", func(t *testing.T) {
		s := s.at(t)
		f := failure("detection_queue", "front_door", "Connection refused")
		f["stack_trace"], f["response_body"] = strings.Repeat("s", 5000), strings.Repeat("b", 3000)
		body, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		s.add(detectionDLQ, string(body))
		job := s.jobs(detectionDLQ)[0]
		job.has(t, object{"error": "Connection refused", "attempt_count": 3.0, "queue_name": "detection_queue",
			"first_failed_at": "2024-01-15T10:30:01.000000+00:00", "last_failed_at": "2024-01-15T10:30:15.000000+00:00",
			"error_type": "ConnectionError", "http_status": 503.0})
		for name, want := range map[string]string{"original_job": "map[camera_id:front_door]", "retry_delays": "[1 2.1]",
			"context": "map[detection_queue_depth:15 dlq_circuit_breaker_state:closed]"} {
			if got := fmt.Sprint(job[name]); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		for name, limit := range map[string]int{"stack_trace": 4096, "response_body": 2048} {
			if text, _ := job[name].(string); len(text) != limit || !strings.HasSuffix(text, "[truncated]") {
				t.Errorf("%s has %d bytes, want %d", name, len(text), limit)
			}
		}
	})
	t.Run("Jobs/WithoutEnrichment", func(t *testing.T) {
		s := s.at(t)
		s.add(detectionDLQ, `{"original_job":{"a":1},"error":"e","attempt_count":1,"first_failed_at":`+
			`"2024-01-15T10:30:01.000000","last_failed_at":"2024-01-15T10:30:01.000000","queue_name":"detection_queue"}`)
		s.jobs(detectionDLQ)[0].has(t, object{"error_type": nil, "stack_trace": nil, "http_status": nil,
			"response_body": nil, "retry_delays": nil, "context": nil})
	})
	t.Run("Jobs/OldestFirstInPages", func(t *testing.T) {
		s := s.at(t)
		for i := range 5 {
			s.fail("detection_queue", fmt.Sprint(i), fmt.Sprint("error ", i))
		}
		page := s.ok("GET", "/api/dlq/jobs/"+detectionDLQ+"?start=1&limit=2")
		items, _ := page["items"].([]any)
		if len(items) != 2 || items[0].(map[string]any)["error"] != "error 1" {
			t.Errorf("%v", items)
		}
		object(page["pagination"].(map[string]any)).has(t, object{"total": 5.0, "limit": 2.0, "offset": 1.0,
			"has_more": true})
		page = s.ok("GET", "/api/dlq/jobs/"+detectionDLQ+"?start=4&limit=2")
		object(page["pagination"].(map[string]any)).has(t, object{"has_more": false})
	})
	for name, path := range map[string]string{"LimitAbove1000": "?limit=1001", "LimitZero": "?limit=0",
		"StartNegative": "?start=-1"} {
		t.Run("Jobs/"+name, func(t *testing.T) {
			if status, out := s.at(t).call("GET", "/api/dlq/jobs/"+detectionDLQ+path); status != 400 {
				t.Errorf("%d %v", status, out)
			}
		})
	}
	t.Run("Jobs/UnknownQueueIs404_Differs", func(t *testing.T) {
		if status, out := s.at(t).call("GET", "/api/dlq/jobs/dlq:other"); status != 404 {
			t.Errorf("%d %v", status, out)
		}
	})
	t.Run("Jobs/ListingRemovesNothing", func(t *testing.T) {
		s := s.at(t)
		s.fail("detection_queue", "a", "e")
		if first, again := s.jobs(detectionDLQ), s.jobs(detectionDLQ); len(first) != 1 || len(again) != 1 {
			t.Errorf("%d jobs, then %d", len(first), len(again))
		}
	})
}

func contractRequeue(t *testing.T, s jobStory) {
	t.Run("Requeue/SendsTheOldest", func(t *testing.T) {
		s := s.at(t)
		s.fail("detection_queue", "first", "e")
		s.fail("detection_queue", "second", "e")
		s.ok("POST", "/api/dlq/requeue/"+detectionDLQ).has(t, object{"success": true, "job": nil,
			"message": "Job requeued from dlq:detection_queue to detection_queue"})
		if got := s.cameras("detection_queue"); !slices.Equal(got, []string{"first"}) || len(s.jobs(detectionDLQ)) != 1 {
			t.Errorf("the queue has %q", got)
		}
	})
	t.Run("Requeue/Empty", func(t *testing.T) {
		s.at(t).ok("POST", "/api/dlq/requeue/"+detectionDLQ).has(t, object{"success": false,
			"message": "No jobs to requeue from dlq:detection_queue"})
	})
	t.Run("Requeue/MoveToAnotherQueue", func(t *testing.T) {
		s := s.at(t)
		s.fail("detection_queue", "a", "e")
		s.ok("POST", "/api/dlq/move/"+detectionDLQ+"?target_queue=spare_queue").has(t, object{"success": true})
		if got := s.cameras("spare_queue"); !slices.Equal(got, []string{"a"}) {
			t.Errorf("the queue has %q", got)
		}
	})
	t.Run("Requeue/AFailedPushLosesNothing_Differs", func(t *testing.T) {
		s := s.at(t)
		s.fail("detection_queue", "a", "e")
		s.lists.do("SET", "detection_queue", "no list")
		if status, out := s.call("POST", "/api/dlq/requeue/"+detectionDLQ); status != 409 {
			t.Errorf("%d %v", status, out)
		}
		if jobs := s.jobs(detectionDLQ); len(jobs) != 1 || jobs[0]["state"] != "open" {
			t.Errorf("%v", jobs)
		}
	})
	t.Run("Requeue/HistoryIsKept_Differs", func(t *testing.T) {
		s := s.at(t)
		s.fail("detection_queue", "kept", "e")
		s.ok("POST", "/api/dlq/requeue/"+detectionDLQ)
		s.fail("detection_queue", "kept", "again")
		s.jobs(detectionDLQ)[0].has(t, object{"error": "again", "attempt_count": 6.0, "requeue_count": 1.0})
	})
	t.Run("Requeue/OverflowGoesBackAsItWas_Differs", func(t *testing.T) {
		s := s.at(t)
		s.add(overflowDLQ, `{"original_queue":"detection_queue","data":"{\"camera_id\":\"moved\"}",`+
			`"reason":"queue_overflow","overflow_policy":"dlq"}`)
		s.jobs(overflowDLQ)[0].has(t, object{"error_type": "queue_overflow", "queue_name": "detection_queue"})
		s.ok("POST", "/api/dlq/requeue/"+overflowDLQ)
		if got := s.cameras("detection_queue"); !slices.Equal(got, []string{"moved"}) {
			t.Errorf("the queue has %q", got)
		}
	})
}

func contractRequeueAll(t *testing.T, s jobStory) {
	t.Run("RequeueAll/Members", func(t *testing.T) {
		s := s.at(t)
		s.fail("detection_queue", "a", "e")
		s.fail("detection_queue", "b", "e")
		s.ok("POST", "/api/dlq/requeue-all/"+detectionDLQ).has(t, object{"success": true, "job": nil,
			"message": "Requeued 2 jobs from dlq:detection_queue to detection_queue"})
		if got := s.cameras("detection_queue"); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("the queue has %q", got)
		}
	})
	t.Run("RequeueAll/LimitIsConfigured", func(t *testing.T) {
		s := s.at(t)
		for i := range 5 {
			s.fail("detection_queue", fmt.Sprint(i), "e")
		}
		s.ok("POST", "/api/dlq/requeue-all/"+detectionDLQ).has(t, object{"success": true,
			"message": "Requeued 3 jobs from dlq:detection_queue to detection_queue (hit limit of 3)"})
		if left := s.jobs(detectionDLQ); len(left) != 2 {
			t.Errorf("%d are left", len(left))
		}
	})
	t.Run("RequeueAll/Empty", func(t *testing.T) {
		s.at(t).ok("POST", "/api/dlq/requeue-all/"+detectionDLQ).has(t, object{"success": false,
			"message": "No jobs to requeue from dlq:detection_queue"})
	})
}

func contractClear(t *testing.T, s jobStory) {
	t.Run("Clear/Members", func(t *testing.T) {
		s := s.at(t)
		for range 2 {
			s.fail("detection_queue", "a", "e")
		}
		s.ok("DELETE", "/api/dlq/"+detectionDLQ).has(t, object{"success": true, "queue_name": detectionDLQ,
			"message": "Cleared 2 jobs from dlq:detection_queue"})
		if left := s.jobs(detectionDLQ); len(left) != 0 {
			t.Errorf("%d are left", len(left))
		}
	})
	t.Run("Clear/OtherQueuesStay", func(t *testing.T) {
		s := s.at(t)
		s.fail("analysis_queue", "a", "e")
		s.jobs(analysisDLQ)
		s.ok("DELETE", "/api/dlq/"+detectionDLQ).has(t, object{"message": "Cleared 0 jobs from dlq:detection_queue"})
		if left := s.jobs(analysisDLQ); len(left) != 1 {
			t.Errorf("%d are left", len(left))
		}
	})
	t.Run("Clear/CanBeTakenBack_Differs", func(t *testing.T) {
		s := s.at(t)
		s.fail("detection_queue", "a", "e")
		at, _ := s.ok("DELETE", "/api/dlq/"+detectionDLQ)["cleared_at"].(string)
		s.ok("POST", "/api/dlq/restore/"+detectionDLQ+"?cleared_at="+at).has(t, object{"success": true})
		if back := s.jobs(detectionDLQ); len(back) != 1 {
			t.Errorf("%d are back", len(back))
		}
	})
}

func contractNamesOfRoutes(t *testing.T, s jobStory) {
	for _, name := range []string{"stats", "jobs"} {
		t.Run("Names/"+name, func(t *testing.T) {
			s := s.at(t)
			s.add("dlq:"+name, `{"original_job":{"camera_id":"x"},"error":"e","queue_name":"spare_queue"}`)
			if status, out := s.call("DELETE", "/api/dlq/stats"); status != 405 {
				t.Errorf("%d %v", status, out)
			}
			s.ok("DELETE", "/api/dlq/dlq:"+name).has(t, object{"message": "Cleared 1 jobs from dlq:" + name})
			s.add("dlq:"+name, `{"original_job":{"camera_id":"`+name+`"},"error":"e","queue_name":"spare_queue"}`)
			s.ok("POST", "/api/dlq/requeue/"+name).has(t, object{"success": true})
			if got := s.cameras("spare_queue"); !slices.Equal(got, []string{name}) {
				t.Errorf("the queue has %q", got)
			}
		})
	}
}

func contractPatterns(t *testing.T, s jobStory) {
	t.Run("Pattern1/SelectiveRequeueSendsTheInspectedJobs_Differs", func(t *testing.T) {
		s := s.at(t)
		for camera, text := range map[string]string{"bad": "corrupt file", "good": "Temporary outage"} {
			s.fail("detection_queue", camera, text)
		}
		s.fail("detection_queue", "good too", "a temporary fault")
		for _, job := range s.jobs(detectionDLQ) {
			if strings.Contains(strings.ToLower(job["error"].(string)), "temporary") {
				s.ok("POST", fmt.Sprintf("/api/dlq/requeue/%s/%s", detectionDLQ, job["job_id"]))
			}
		}
		left := s.jobs(detectionDLQ)
		if got := s.cameras("detection_queue"); !slices.Equal(got, []string{"good", "good too"}) || len(left) != 1 ||
			left[0]["error"] != "corrupt file" {
			t.Errorf("the queue has %q, left are %v", got, left)
		}
	})
	t.Run("Pattern2/BatchRequeueAfterAFix", func(t *testing.T) {
		s := s.at(t)
		for i := range 3 {
			s.fail("detection_queue", fmt.Sprint(i), "e")
		}
		s.ok("POST", "/api/dlq/requeue-all/"+detectionDLQ).has(t, object{"success": true})
		if got := s.cameras("detection_queue"); !slices.Equal(got, []string{"0", "1", "2"}) {
			t.Errorf("the queue has %q", got)
		}
	})
	t.Run("Pattern3/InspectThenRequeueOrClear", func(t *testing.T) {
		s := s.at(t)
		s.fail("detection_queue", "one", "e")
		s.fail("detection_queue", "other", "e")
		if n := len(s.jobs(detectionDLQ)); n != 2 {
			t.Fatalf("%d jobs", n)
		}
		s.ok("POST", "/api/dlq/requeue/"+detectionDLQ)
		s.ok("DELETE", "/api/dlq/"+detectionDLQ).has(t, object{"message": "Cleared 1 jobs from dlq:detection_queue"})
		if got := s.cameras("detection_queue"); !slices.Equal(got, []string{"one"}) {
			t.Errorf("the queue has %q", got)
		}
	})
}

func contractMonitoring(t *testing.T, s jobStory) {
	s = s.at(t)
	s.fail("detection_queue", "a", "e")
	s.jobs(detectionDLQ)
	var text string
	t.Run("Monitoring/Metrics", func(t *testing.T) {
		_, out := s.with(t, "").call("GET", "/metrics")
		text, _ = out["text"].(string)
		// Counted at most once in 5 s: any value since the start.
		for _, series := range []string{`hsi_dlq_depth{queue="detection_queue",queue_name="dlq:detection_queue"} `,
			`hsi_circuit_breaker_state{namespace="default",service="detection_queue"} 0`} {
			if !strings.Contains(text, "\n"+series) {
				t.Errorf("there is no %s", series)
			}
		}
	})
	t.Run("Monitoring/ErrorTypes", func(t *testing.T) {
		for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			out := fmt.Sprint(s.with(t, "").ok("GET", "/v1/groups"))
			if strings.Contains(out, "ConnectionError") {
				return
			}
			if time.Now().After(until) {
				t.Fatal(out)
			}
		}
	})
}

func contractOutage(t *testing.T, s jobStory) {
	s = s.at(t)
	if err := s.on.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/dlq/stats", "/api/dlq/jobs/" + detectionDLQ} {
		t.Run("Outage/IsNoEmptyQueue_Differs"+path, func(t *testing.T) {
			if status, out := s.with(t, "").call("GET", path); status != 503 {
				t.Errorf("%d %v", status, out)
			}
		})
	}
}

func TestJobsKeys(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	open := func(t *testing.T, set func(*config.Config)) *jobServer {
		t.Helper()
		return startJobs(t, "sqlite:"+t.TempDir()+"/tasker.db", redis.URL(), set, detectionDLQ)
	}
	all, entry := newKey("app", access.DeadLettersRead, access.DeadLettersRedrive, access.DeadLettersDiscard)
	reader, readerEntry := newKey("reader", access.DeadLettersRead)
	changes := [][2]string{{"POST", "/api/dlq/requeue/" + detectionDLQ}, {"POST", "/api/dlq/requeue-all/" + detectionDLQ},
		{"DELETE", "/api/dlq/" + detectionDLQ}}
	questions := [][2]string{{"GET", "/api/dlq/stats"}, {"GET", "/api/dlq/jobs/" + detectionDLQ}}
	want := func(t *testing.T, s *jobServer, requests [][2]string, suffix string, status int, detail string) {
		t.Helper()
		for _, r := range requests {
			got, out := s.call(r[0], r[1]+suffix)
			if got != status || !strings.Contains(fmt.Sprint(out["detail"]), detail) && detail != "" {
				t.Errorf("%s %s: %d %v, want %d %s", r[0], r[1], got, out, status, detail)
			}
		}
	}
	t.Run("Disabled", func(t *testing.T) {
		s := open(t, nil)
		want(t, s, slices.Concat(changes, questions), "", 200, "")
		// An unneeded key does no harm, and the parameter is no key here.
		want(t, s.with(t, "anything"), questions, "", 200, "")
		want(t, s, changes, parameter("anything"), 400, "")
	})
	t.Run("EnabledWithoutKeysDoesNotStart", func(t *testing.T) {
		_, err := config.Load(config.Sources{Environ: []string{"TASKER_DLQ_API_KEY_ENABLED=true"}})
		if err == nil || !strings.Contains(err.Error(), "dlq.api_key_enabled") {
			t.Error(err)
		}
	})
	enabled := func(inQuery bool) func(*config.Config) {
		return func(c *config.Config) {
			c.Keys = []access.Key{entry, readerEntry}
			c.DLQ.APIKeyEnabled, c.DLQ.APIKeyParameter = true, inQuery
		}
	}
	t.Run("Enabled", func(t *testing.T) {
		s := open(t, enabled(false))
		want(t, s, changes, "", 401, "key")
		want(t, s.with(t, "tsk_wrong"), changes, "", 401, "")
		want(t, s.with(t, reader), changes, "", 403, "")
		want(t, s.with(t, all), slices.Concat(changes, questions), "", 200, "")
		want(t, s.with(t, reader), questions, "", 200, "")
	})
	t.Run("ReadingNeedsAKey_Differs", func(t *testing.T) {
		want(t, open(t, enabled(false)), questions, "", 401, "")
	})
	t.Run("ParameterOnlyWhereItIsAllowed", func(t *testing.T) {
		want(t, open(t, enabled(false)), changes, parameter(all), 401, "")
		s := open(t, enabled(true))
		want(t, s, changes, parameter(all), 200, "")
		want(t, s, changes, parameter("tsk_wrong"), 401, "")
		want(t, s, changes, parameter(reader), 403, "")
		want(t, s, questions, parameter(all), 401, "") // only requests that change something
	})
	t.Run("HeaderComesFirst", func(t *testing.T) {
		s := open(t, enabled(true))
		want(t, s.with(t, all), changes, parameter("tsk_wrong"), 200, "")
		want(t, s.with(t, "tsk_wrong"), changes, parameter(all), 401, "")
	})
}
