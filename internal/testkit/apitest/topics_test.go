package apitest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/deadletters"
)

// topicStory is a server with dead letters of two topics, and a consumer for redrives.
type topicStory struct {
	*server
	topic, other string
	mu           sync.Mutex
	got          []string // bodies that the consumer took
	refuses      bool
}

func newTopics(t *testing.T, s *server) *topicStory {
	t.Helper()
	st := &topicStory{server: s}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.refuses {
			w.WriteHeader(http.StatusConflict)
			return
		}
		st.got = append(st.got, string(body))
	}))
	t.Cleanup(h.Close)
	st.topic, st.other = h.URL+"/pod-events", h.URL+"/execution-requests"
	s.must(t, "POST", "/v1/sources", `{"name":"events","driver":"http","targets":["`+h.URL+`/*"]}`, nil)
	return st
}

func (s *topicStory) die(t *testing.T, source, id, topic, kind string) string {
	t.Helper()
	var out struct {
		Results []struct {
			LetterUUID string `json:"letter_uuid"`
		} `json:"results"`
	}
	s.must(t, "POST", "/v1/dead-letters", fmt.Sprintf(`{"source":%q,"reports":[{"message_id":%q,"origin":%q,
		"handler":"worker-1","payload":{"event_id":%q,"event_type":%q},"attempts":3,
		"failure":{"error_type":"Timeout","message":"no answer"}}]}`, source, id, topic, id, kind), &out)
	return out.Results[0].LetterUUID
}

func (s *topicStory) message(t *testing.T, id string) *deadletters.DeadMessage {
	t.Helper()
	m := &deadletters.DeadMessage{}
	s.must(t, "GET", "/api/v1/dlq/messages/"+id, "", m)
	return m
}

func (s *topicStory) retry(t *testing.T, body string) *deadletters.MessageRetryAnswer {
	t.Helper()
	r := &deadletters.MessageRetryAnswer{}
	s.must(t, "POST", "/api/v1/dlq/retry", body, r)
	return r
}

func (s *topicStory) page(t *testing.T, query url.Values) *deadletters.MessagePage {
	t.Helper()
	p := &deadletters.MessagePage{}
	s.must(t, "GET", "/api/v1/dlq/messages?"+query.Encode(), "", p)
	return p
}

func wants(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Fatalf("%s: %s, want %s", what, g, w)
	}
}

// TestTopicsContract: the promises to operators of a dead letter topic, one per subtest.
func TestTopicsContract(t *testing.T) { onEveryStore(t, testTopicsContract) }

func testTopicsContract(t *testing.T, srv *server) {
	s := newTopics(t, srv)
	for i := range 3 {
		s.die(t, "events", fmt.Sprintf("pod-%d", i), s.topic, "pod.failed")
	}
	s.die(t, "events", "exec-1", s.other, "execution.requested")

	t.Run("Stats", func(t *testing.T) {
		var st deadletters.MessageStats
		s.must(t, "GET", "/api/v1/dlq/stats", "", &st)
		wants(t, "by status", st.ByStatus, deadletters.MessageCounts{Pending: 4})
		wants(t, "by topic", st.ByTopic, []deadletters.TopicCount{{Topic: s.topic, Count: 3}, {Topic: s.other, Count: 1}})
		wants(t, "by type", st.ByEventType, []deadletters.TypeCount{{EventType: "pod.failed", Count: 3},
			{EventType: "execution.requested", Count: 1}})
		if a := st.AgeStats; a.Min < 0 || a.Avg < a.Min || a.Max < a.Avg || a.Max > 600 || st.Timestamp.IsZero() {
			t.Errorf("ages: %+v at %s", a, st.Timestamp)
		}
	})
	t.Run("TheQueueFamilyKeepsItsList", func(t *testing.T) {
		var list any
		s.must(t, "GET", "/api/v1/dlq", "", &list)
	})
	t.Run("MessagesFilteredAndPaged", func(t *testing.T) {
		p := s.page(t, url.Values{"topic": {s.topic}, "status": {"pending"}, "event_type": {"pod.failed"}})
		wants(t, "page", []any{p.Total, p.Limit, p.Offset, len(p.Messages), p.Messages[0].EventID}, "[3 50 0 3 pod-2]")
		p = s.page(t, url.Values{"limit": {"2"}, "offset": {"3"}})
		wants(t, "last page", []any{p.Total, len(p.Messages), p.Messages[0].EventID}, "[4 1 pod-0]")
		for _, query := range []url.Values{{"status": {"retried"}}, {"topic": {"unknown"}}, {"offset": {"99"}}} {
			if p := s.page(t, query); len(p.Messages) != 0 {
				t.Errorf("%v: %+v", query, p)
			}
		}
	})
	t.Run("LimitFrom1To1000", func(t *testing.T) {
		for _, query := range []string{"limit=0", "limit=1001", "offset=-1", "status=open", "limit=x"} {
			if status, text := s.send(t, "GET", "/api/v1/dlq/messages?"+query, "", nil); status != 400 {
				t.Errorf("%s: %d %s", query, status, text)
			}
		}
		s.page(t, url.Values{"limit": {"1000"}})
	})
	t.Run("MessageByID", func(t *testing.T) {
		m := s.message(t, "pod-1")
		wants(t, "message", []any{m.EventID, m.EventType, m.OriginalTopic, m.Error, m.ErrorType, m.RetryCount,
			m.AttemptCount, m.Status, m.ProducerID}, []any{"pod-1", "pod.failed", s.topic, "no answer", "Timeout", 0, 3,
			"pending", "worker-1"})
		if !json.Valid(m.Event) || !strings.Contains(string(m.Event), `"pod-1"`) {
			t.Errorf("event %s", m.Event)
		}
		wants(t, "by UUID", s.message(t, m.LetterUUID.String()).EventID, "pod-1")
		if status, _ := s.send(t, "GET", "/api/v1/dlq/messages/unknown", "", nil); status != 404 {
			t.Errorf("unknown: %d", status)
		}
	})
	t.Run("RetryHasAResultForEach", func(t *testing.T) {
		r := s.retry(t, `{"event_ids":["pod-0","unknown","pod-1","pod-0"]}`)
		wants(t, "retry", []any{r.Total, r.Successful, r.Failed, r.Pending, len(r.Details)}, "[4 3 1 0 4]")
		wants(t, "order", []any{r.Details[0].EventID, r.Details[1].Status, r.Details[2].EventID, r.Details[3].Status},
			"[pod-0 failed pod-1 success]")
		if r.Details[1].Error == "" || r.Details[0].Error != "" {
			t.Errorf("%+v", r.Details)
		}
		wants(t, "sent", len(s.got), 2)
		m := s.message(t, "pod-0")
		wants(t, "retried", []any{m.Status, m.RetryCount, m.RetriedAt != nil}, "[retried 1 true]")
	})
	t.Run("ARetriedMessageIsSentAgain", func(t *testing.T) {
		r := s.retry(t, `{"event_ids":["pod-0"],"reason":"the consumer was restored"}`)
		wants(t, "retry", r.Successful, 1)
		wants(t, "count", s.message(t, "pod-0").RetryCount, 2)
	})
	t.Run("DiscardNeedsAReason", func(t *testing.T) {
		for _, path := range []string{"pod-2", "pod-2?reason="} {
			if status, text := s.send(t, "DELETE", "/api/v1/dlq/messages/"+path, "", nil); status != 400 {
				t.Errorf("%s: %d %s", path, status, text)
			}
		}
		var done deadletters.MessageDone
		s.must(t, "DELETE", "/api/v1/dlq/messages/pod-2?reason=duplicate", "", &done)
		wants(t, "answer", done.Message, "Message pod-2 discarded")
		m := s.message(t, "pod-2")
		wants(t, "message", []any{m.Status, *m.DiscardReason, m.DiscardedAt != nil}, "[discarded manual: duplicate true]")
		if status, _ := s.send(t, "DELETE", "/api/v1/dlq/messages/unknown?reason=x", "", nil); status != 404 {
			t.Errorf("unknown: %d", status)
		}
		if status, _ := s.send(t, "DELETE", "/api/v1/dlq/messages/pod-2?reason=x", "", nil); status != 409 {
			t.Errorf("discarded twice: %d", status)
		}
	})
	t.Run("ADiscardedMessageIsRestoredAndSent", func(t *testing.T) {
		wants(t, "retry", s.retry(t, `{"event_ids":["pod-2"]}`).Successful, 1)
		wants(t, "status", s.message(t, "pod-2").Status, "retried")
	})
	t.Run("AFailedSendLeavesTheMessage", func(t *testing.T) {
		s.mu.Lock()
		s.refuses = true
		s.mu.Unlock()
		r := s.retry(t, `{"event_ids":["exec-1"]}`)
		s.mu.Lock()
		s.refuses = false
		s.mu.Unlock()
		wants(t, "retry", []any{r.Successful, r.Failed}, "[0 1]")
		m := s.message(t, "exec-1")
		if m.Status != "pending" || m.RetryCount != 0 || m.LastError == nil || r.Details[0].Error == "" {
			t.Errorf("%+v, %+v", m, r.Details)
		}
	})
	t.Run("Topics", func(t *testing.T) {
		var list []deadletters.DeadTopic
		s.must(t, "GET", "/api/v1/dlq/topics", "", &list)
		wants(t, "topics", len(list), 2)
		pods := list[1]
		wants(t, "pods", []any{pods.Topic, pods.TotalMessages, pods.Statuses, pods.MaxRetryCount},
			[]any{s.topic, 3, deadletters.MessageCounts{Retried: 3}, 2})
		if pods.OldestMessage == nil || pods.NewestMessage == nil || pods.AvgRetryCount < 1.3 || pods.AvgRetryCount > 1.4 {
			t.Errorf("%+v", pods)
		}
	})
	t.Run("SeveralMessagesOfOneID", func(t *testing.T) {
		s.die(t, "more", "pod-0", s.topic, "")
		status, text := s.send(t, "GET", "/api/v1/dlq/messages/pod-0", "", nil)
		if status != 409 || !strings.Contains(text, "events") || !strings.Contains(text, "more") {
			t.Errorf("%d %s", status, text)
		}
		r := s.retry(t, `{"event_ids":["pod-0"]}`)
		wants(t, "retry", []any{r.Failed, strings.Contains(r.Details[0].Error, "2 letters")}, "[1 true]")
		wants(t, "by source", s.message(t, "pod-0?source=more").Source, "more")
		wants(t, "retry by source", s.retry(t, `{"event_ids":["pod-0"],"source":"events"}`).Successful, 1)
	})
	t.Run("TopicPolicy", func(t *testing.T) {
		var done deadletters.MessageDone
		s.must(t, "POST", "/api/v1/dlq/retry-policy", `{"topic":"`+s.other+`","strategy":"exponential_backoff",
			"max_retries":5,"base_delay_seconds":30,"max_delay_seconds":300,"retry_multiplier":2.0}`, &done)
		if !strings.Contains(done.Message, s.other) {
			t.Errorf("%+v", done)
		}
		s.die(t, "events", "exec-2", s.other, "")
		m := s.message(t, "exec-2")
		if m.Status != "scheduled" || m.NextRetryAt == nil {
			t.Fatalf("%+v", m)
		}
		if wait := m.NextRetryAt.Sub(m.LastUpdated).Seconds(); wait < 26 || wait > 34 {
			t.Errorf("waits %f s", wait)
		}
		s.must(t, "POST", "/api/v1/dlq/retry-policy", `{"topic":"`+s.other+`","strategy":"manual"}`, nil)
		s.die(t, "events", "exec-3", s.other, "")
		wants(t, "manual", s.message(t, "exec-3").Status, "pending")
	})
	t.Run("RetryPolicyRefused", func(t *testing.T) {
		for _, c := range []struct{ body, at string }{
			{`{"topic":"t","strategy":"hope"}`, "/strategy"},
			{`{"strategy":"manual"}`, "/topic"},
			{`{"topic":"","strategy":"manual"}`, "/topic"},
			{`{"topic":"a\u0000b","strategy":"manual"}`, "/topic"},
			{`{"topic":"t","strategy":"fixed_interval","max_retries":-1}`, "/max_retries"},
			{`{"topic":"t","strategy":"fixed_interval","max_retries":1001}`, "/max_retries"},
			{`{"topic":"t","strategy":"fixed_interval","base_delay_seconds":-1}`, "/base_delay_seconds"},
			{`{"topic":"t","strategy":"fixed_interval","base_delay_seconds":1e300}`, "/base_delay_seconds"},
			{`{"topic":"t","strategy":"exponential","base_delay_seconds":60,"max_delay_seconds":30}`, "/max_delay_seconds"},
			{`{"topic":"t","strategy":"exponential","retry_multiplier":0.5}`, "/retry_multiplier"},
			{`{"topic":"t","strategy":"exponential","jitter_factor":2}`, "/jitter_factor"},
			{`{"topic":"t","strategy":"manual","max_age_seconds":1e12}`, "/max_age_seconds"},
			{`{"topic":"` + strings.Repeat("t", 256) + `","strategy":"manual"}`, "/topic"},
			{`{"topic":"t","strategy":"manual","retries":1}`, "/retries"},
			{`{"topic":"t","strategy":"manual","jitter_factor":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, ""},
		} {
			if status, text := s.send(t, "POST", "/api/v1/dlq/retry-policy", c.body, nil); status != 400 ||
				!strings.Contains(text, c.at) {
				t.Errorf("%.90s: %d %.300s", c.body, status, text)
			}
		}
		if status, _ := s.send(t, "POST", "/api/v1/dlq/retry-policy",
			`{"topic":"t","strategy":"manual","source":"unknown"}`, nil); status != 404 {
			t.Errorf("unknown source: %d", status)
		}
	})
	t.Run("RetryRefused", func(t *testing.T) {
		many := `"` + strings.Join(strings.Split(strings.Repeat("e", 10_000), ""), `","`) + `"`
		for _, body := range []string{`{}`, `{"event_ids":[]}`, `{"event_ids":"pod-0"}`, `{"event_ids":[1]}`,
			`{"event_ids":[` + many + `]}`, `{"event_ids":["a"],"reason":"a\u0000"}`} {
			if status, text := s.send(t, "POST", "/api/v1/dlq/retry", body, nil); status != 400 {
				t.Errorf("%.60s: %d %.200s", body, status, text)
			}
		}
		odd := s.retry(t, `{"event_ids":["","a\u0000b","`+strings.Repeat("x", 5000)+`","ü/\\ %"]}`)
		wants(t, "odd IDs", []any{odd.Failed, odd.Successful}, "[4 0]")
	})
	t.Run("TwoRetriesAtOnce", func(t *testing.T) {
		s.die(t, "events", "twice", s.topic, "")
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				status, text := s.send(t, "POST", "/api/v1/dlq/retry", `{"event_ids":["twice"]}`, nil)
				if status != 200 {
					t.Errorf("%d %s", status, text)
				}
			})
		}
		both.Wait()
		if m := s.message(t, "twice"); m.Status != "retried" || m.RetryCount < 1 || m.RetryCount > 2 {
			t.Errorf("%+v", m)
		}
	})
	t.Run("OtherNamespacesAreApart", func(t *testing.T) {
		if status, _ := s.send(t, "GET", "/api/v1/dlq/messages/exec-1?namespace=else", "", nil); status != 404 {
			t.Errorf("another namespace: %d", status)
		}
		wants(t, "empty", s.page(t, url.Values{"namespace": {"else"}}).Total, 0)
		wants(t, "retry", s.retry(t, `{"event_ids":["exec-1"],"namespace":"else"}`).Failed, 1)
	})
}
