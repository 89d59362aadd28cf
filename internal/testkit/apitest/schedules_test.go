package apitest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/schedules"
)

func (s *server) atOnce(t *testing.T, n int, method, path, body string) map[int]int {
	t.Helper()
	var all sync.WaitGroup
	statuses := make([]int, n)
	for i := range n {
		all.Go(func() { statuses[i], _ = s.send(t, method, path, body, nil) })
	}
	all.Wait()
	counts := map[int]int{}
	for _, status := range statuses {
		counts[status]++
	}
	return counts
}

func (s *server) number(t *testing.T) int {
	t.Helper()
	page, err := s.Tasks(s.ctx, tasker.TaskFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Tasks)
}

// TestSchedulesAtOnce: concurrent requests are answered as if in sequence.
func TestSchedulesAtOnce(t *testing.T) { onEveryStore(t, testSchedulesAtOnce) }

func testSchedulesAtOnce(t *testing.T, s *server) {
	const path = "/v1/schedules/default/t"
	want := func(what string, got, want map[int]int) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the answers are %v, want %v", what, got, want)
		}
	}
	body := `{"name":"t","cron":"@daily","task_type":"idle"}`
	want("saved", s.atOnce(t, 10, "POST", "/v1/schedules", body), map[int]int{201: 1, 200: 9})
	var of schedules.Schedule
	s.send(t, "GET", path, "", &of)
	if of.ETag == "" || len(of.NextTimes) != 10 {
		t.Fatalf("the schedule is %+v", of)
	}
	// With a precondition one of them wins.
	changed := `{"name":"t","cron":"@weekly","task_type":"idle","if_match":` + fmt.Sprintf("%q", of.ETag) + `}`
	want("changed", s.atOnce(t, 5, "POST", "/v1/schedules", changed), map[int]int{200: 1, 409: 4})

	want("run", s.atOnce(t, 10, "POST", path+"/run", `{}`), map[int]int{200: 1, 409: 9})
	got := s.atOnce(t, 10, "POST", path+"/run", `{"overlap":"allow"}`)
	if got[200] < 1 || got[200]+got[409] != 10 || s.number(t) != 1+got[200] {
		t.Errorf("run beside: the answers are %v, and there are %d tasks", got, s.number(t))
	}
	before := s.number(t)
	fill := `{"from":"2026-01-01T00:00:00Z","until":"2026-01-31T00:00:00Z","overlap":"allow"}`
	got = s.atOnce(t, 5, "POST", path+"/backfill", fill)
	if got[200] < 1 || got[200]+got[409] != 5 || s.number(t) != before+4 { // four Sundays
		t.Errorf("backfill: the answers are %v, and there are %d new tasks", got, s.number(t)-before)
	}
	want("pause", s.atOnce(t, 5, "POST", path+"/pause", `{"reason":"x"}`), map[int]int{200: 5})
	want("resume", s.atOnce(t, 5, "POST", path+"/resume", `{"reason":"x"}`), map[int]int{200: 1, 409: 4})
	want("remove", s.atOnce(t, 5, "DELETE", path, ""), map[int]int{200: 1, 404: 4})
}

// TestBackfillBounds: a range beyond the bound fires nothing; one at the bound fires all.
func TestBackfillBounds(t *testing.T) { onEveryStore(t, testBackfillBounds) }

func testBackfillBounds(t *testing.T, s *server) {
	s.send(t, "POST", "/v1/schedules", `{"name":"t","cron":"* * * * *","task_type":"idle","overlap":"allow"}`, nil)
	for until, want := range map[string]int{"2026-01-07T22:39:00Z": 0, "2026-01-01T16:40:00Z": 0,
		"9999-12-31T00:00:00Z": 0, "2026-01-01T16:39:00Z": 1000} {
		before := s.number(t)
		body := `{"from":"2026-01-01T00:00:00Z","until":"` + until + `"}`
		status, answer := s.send(t, "POST", "/v1/schedules/default/t/backfill", body, nil)
		if refused := status == http.StatusBadRequest && strings.Contains(answer, `"/until"`); refused != (want == 0) {
			t.Errorf("until %s is answered %d %.300s", until, status, answer)
		}
		if made := s.number(t) - before; made != want {
			t.Errorf("until %s makes %d tasks, want %d", until, made, want)
		}
	}
}

// scheduleVerbs are requests about the schedule NAME of the namespace audio.
var scheduleVerbs = []verb{
	{"GET", "/v1/schedules/audio/NAME", ""},
	{"GET", "/v1/schedules/audio/NAME/firings", ""},
	{"POST", "/v1/schedules/audio/NAME/pause", ""},
	{"POST", "/v1/schedules/audio/NAME/resume", `{"if_match":"*"}`},
	{"POST", "/v1/schedules/audio/NAME/run", `{"overlap":"allow"}`},
	{"POST", "/v1/schedules/audio/NAME/backfill", `{"from":"2026-01-01T00:00:00Z","until":"2026-01-03T00:00:00Z"}`},
	{"DELETE", "/v1/schedules/audio/NAME", ""},
	{"DELETE", "/v1/schedules/audio/NAME?if_match=%22x%22", ""},
	{"POST", "/v1/schedules", `{"name":"NAME","namespace":"audio","cron":"@daily","task_type":"idle"}`},
	{"POST", "/v1/schedules", `{"name":"NAME","namespace":"audio","cron":"@daily","task_type":"idle","dry_run":true}`},
	{"GET", "/v1/schedules?namespace=audio", ""},
}

// TestSchedulesOfAnotherNamespace: to a limited key, schedules of other namespaces look like missing ones.
func TestSchedulesOfAnotherNamespace(t *testing.T) { onEveryStore(t, testSchedulesOfAnotherNamespace) }

func testSchedulesOfAnotherNamespace(t *testing.T, s *server) {
	made := strings.ReplaceAll(scheduleVerbs[8].body, "NAME", "present")
	if status, answer := s.send(t, "POST", "/v1/schedules", made, nil); status != http.StatusCreated {
		t.Fatalf("saved: %d %s", status, answer)
	}
	_, before := s.send(t, "GET", "/v1/schedules/audio/present", "", nil)
	send := s.senderOf(t, "video")
	for _, v := range scheduleVerbs {
		status, body := send(v, strings.NewReplacer("NAME", "present"))
		_, missing := send(v, strings.NewReplacer("NAME", "absent"))
		want := http.StatusNotFound
		if !strings.Contains(v.path, "NAME") { // it names the namespace itself
			want = http.StatusForbidden
		}
		if status != want || strings.ReplaceAll(body, "present", "absent") != missing {
			t.Errorf("%s %s %s is answered %d %s, and one that does not exist %s", v.method, v.path, v.body, status, body,
				missing)
		}
	}
	if _, after := s.send(t, "GET", "/v1/schedules/audio/present", "", nil); after != before {
		t.Errorf("the schedule was %s and is %s", before, after)
	}
	if n := s.number(t); n != 0 {
		t.Errorf("there are %d tasks", n)
	}
}
