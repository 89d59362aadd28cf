package siege

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

// inquiry sends a node without its database every kind of request. It must not invent answers.
type inquiry struct {
	http  *http.Client
	notes *notes
	task  uuid.UUID // an existing one
	redis bool      // the nodes dispatch through one

	mu     sync.Mutex
	asked  int                         // requests sent by ask
	took   []time.Duration             // how long each of them took
	runs   int                         // queried nodes, over all outages
	worker map[*cluster.Node]uuid.UUID // registered with the node
}

// newInquiry lacks a worker and a task: run.hire sets both before faults strike.
func newInquiry(client *http.Client, notes *notes, redis bool) *inquiry {
	return &inquiry{http: client, notes: notes, redis: redis, worker: map[*cluster.Node]uuid.UUID{}}
}

// answerLimit bounds an answer in every state of the database.
const answerLimit = 20 * time.Second

// blind queries the nodes that are up, concurrently.
func (q *inquiry) blind(ctx context.Context, nodes []*cluster.Node, what string) {
	var all sync.WaitGroup
	for _, n := range nodes {
		if !n.Up() {
			continue
		}
		q.mu.Lock()
		worker := q.worker[n]
		q.runs++
		q.mu.Unlock()
		tasks, workers := "/v1/tasks", "/internal/workers"
		task, own := tasks+"/"+q.task.String(), workers+"/"+worker.String()
		for _, r := range []struct{ method, path, body string }{
			{"GET", tasks, ""},
			{"GET", tasks + "?state=error&limit=1", ""},
			{"GET", task, ""},
			{"GET", task + "?wait_ms=200", ""},
			{"GET", task + "/history", ""},
			{"GET", task + "/explain", ""},
			{"GET", task + "/workflow_steps", ""},
			{"GET", "/v1/templates", ""},
			{"GET", workers, ""},
			{"GET", "/health/ready", ""},
			{"POST", tasks, `{"task_type":"never","correlation_id":"nobody may accept this"}`},
			{"POST", own + "/poll", `{"capacity":5}`},
			{"POST", own + "/poll", `{"capacity":5,"wait_ms":300}`},
			{"POST", own + "/heartbeat", `{}`},
			{"POST", own + "/result", fmt.Sprintf(`{"results":[{"step_uuid":%q,"token":"1","status":"completed","result":1}]}`,
				q.task)},
		} {
			all.Go(func() { q.ask(ctx, n, what, r.method, r.path, r.body) })
		}
		all.Go(func() { q.live(ctx, n, what) })
	}
	all.Wait()
}

// ask sends one request, which must be refused; but with Redis as the queue, a poll need not use the database.
func (q *inquiry) ask(ctx context.Context, n *cluster.Node, what, method, path, body string) {
	begun := time.Now()
	got, err := q.do(ctx, method, n.URL()+path, body)
	took := time.Since(begun)
	q.mu.Lock()
	q.asked++
	q.took = append(q.took, took)
	q.mu.Unlock()
	var problem struct {
		Code string `json:"code"`
	}
	switch {
	case ctx.Err() != nil, q.redis && got.status == http.StatusOK && strings.HasSuffix(path, "/poll"):
	case err != nil:
		q.notes.add("no answer", "%s: %s %s of node %d, after %s: %v", what, method, path, n.Index, took, err)
	case got.status != http.StatusServiceUnavailable || !got.advice || json.Unmarshal(got.body, &problem) != nil ||
		problem.Code != "unavailable":
		q.notes.add("outage denied", "%s: %s %s of node %d: %d, with a Retry-After %t: %s", what, method, path, n.Index,
			got.status, got.advice, got.body)
	}
}

// live checks that the process counts as live: a database outage must not restart it.
func (q *inquiry) live(ctx context.Context, n *cluster.Node, what string) {
	got, err := q.do(ctx, http.MethodGet, n.URL()+"/health/live", "")
	if ctx.Err() == nil && (err != nil || got.status != http.StatusOK) {
		q.notes.add("not alive", "%s: node %d: %d, %v", what, n.Index, got.status, err)
	}
}

type got struct {
	status int
	advice bool // when to try again
	body   []byte
}

func (q *inquiry) do(ctx context.Context, method, url, body string) (got, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var content io.Reader
	if body != "" {
		content = bytes.NewReader([]byte(body))
	}
	req, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return got{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := q.http.Do(req)
	if err != nil {
		return got{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return got{resp.StatusCode, hasRetryAfter(resp), raw}, err
}
