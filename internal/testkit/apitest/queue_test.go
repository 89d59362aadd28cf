package apitest_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// TestTwoInstallationsOnOneRedis: each sees only its own queue.
func TestTwoInstallationsOnOneRedis(t *testing.T) {
	t.Parallel()
	url := redistest.Start(t).URL()
	var servers [2]*server
	for i := range servers {
		s := serve(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"), node.Options{Dispatch: url})
		servers[i] = s
		await.Until(t, "Redis hands out the steps", func() bool {
			stats, err := s.QueueStats(s.ctx, queueapi.QueueFilter{})
			return err == nil && stats.Dispatch.Mode == "redis"
		})
		for range 3 {
			s.must(t, "POST", "/api/v1/tasks", fmt.Sprintf(`{"task_type":"t","parameters":%d}`, i), nil)
		}
	}
	for i, s := range servers {
		m := s.join(t, `{"capacity":10}`)
		got := 0
		await.Until(t, "the worker has its tasks", func() bool {
			for _, a := range m.poll(t, `{"available_capacity":10}`) {
				if got++; string(a.Parameters) != strconv.Itoa(i) {
					t.Errorf("server %d hands out a task of %s", i, a.Parameters)
				}
			}
			return got >= 3
		})
	}
	for _, s := range servers {
		await.Until(t, "it counts the three that it has handed out", func() bool {
			stats, err := s.QueueStats(s.ctx, queueapi.QueueFilter{})
			return err == nil && stats.Queue.Executing == 3
		})
	}
}

// TestQueueByHand: a task from the queue to its result, in the words of the queue, by bare HTTP; the SDK shows the same
// on both sides of the server.
func TestQueueByHand(t *testing.T) { onEveryQueue(t, testQueueByHand) }

func testQueueByHand(t *testing.T, s *server) {
	const body = `{"task_type":"process_video","priority":"high","parameters":{"url":"s3://b/k"},"required_capabilities":["gpu"],"timeout_seconds":600,
		"estimated_duration_seconds":60,"idempotency_key":"video-7","user_id":"ann","trace_id":"0af7651916cd43dd8448eb211c80319c"}`
	var receipt queueapi.QueueReceipt
	if status, text := s.send(t, "POST", "/api/v1/tasks", body, &receipt); status != 201 ||
		receipt.Status != queueapi.QueueQueued || *receipt.PositionInQueue != 1 ||
		receipt.QueueScore == nil || receipt.EstimatedWaitSeconds != nil ||
		!strings.Contains(text, `"estimated_wait_seconds":null`) {
		t.Fatalf("the submission is answered %d %s", status, text)
	}
	var again queueapi.QueueReceipt
	if status, text := s.send(t, "POST", "/api/v1/tasks", body, &again); status != 200 || again.TaskID != receipt.TaskID ||
		again.Created || *again.PositionInQueue != 1 {
		t.Errorf("the same again is answered %d %s", status, text)
	}
	id := receipt.TaskID
	blind := s.join(t, `{"capabilities":["cpu"],"capacity":5}`)
	if got := blind.poll(t, `{"capabilities":["cpu"],"available_capacity":5}`); len(got) != 0 {
		t.Errorf("a worker without the capability is given %+v", got)
	}
	m := s.join(t, `{"capabilities":["gpu","cpu"],"capacity":5,"host":"pod-7"}`)
	got := m.poll(t, `{"worker_capabilities":["cpu","gpu"],"capacity":3}`)
	if len(got) != 1 || got[0].TaskID != id || got[0].TaskType != "process_video" ||
		string(got[0].Parameters) != `{"url":"s3://b/k"}` ||
		got[0].TraceID != "0af7651916cd43dd8448eb211c80319c" || time.Until(got[0].Visible) < time.Second {
		t.Fatalf("the poll brings %+v", got)
	}
	s.same(t, id, queueapi.QueueAssigned)
	ofTask := `{"task_id":"` + id.String() + `"`
	for _, step := range []struct{ verb, body string }{{"start", ofTask + `}`},
		{"progress", ofTask + `,"progress_percent":45,"status_message":"frame 450 of 1000"}`}} {
		var l lease
		if m.must(t, "POST", m.path+"/"+step.verb, step.body, &l); !l.Acknowledged || l.Status != "held" {
			t.Errorf("%s is answered %+v", step.verb, l)
		}
	}
	if task := s.same(t, id, queueapi.QueueExecuting); task.Progress != 45 || task.EstimatedDurationSeconds != 60 ||
		task.TimeoutSeconds != 600 || task.AssignedWorkerID == nil {
		t.Errorf("while it runs it is %+v", task)
	}
	var l lease // no other worker can report on it
	if blind.must(t, "POST", blind.path+"/progress", ofTask+`,"progress_percent":1}`, &l); l.Acknowledged ||
		l.Status != "lost" {
		t.Errorf("another worker's progress is answered %+v", l)
	}
	if status, text := blind.send(t, "POST", blind.path+"/result", ofTask+`,"status":"completed"}`, nil); status != 409 ||
		!strings.Contains(text, `"stale_token"`) {
		t.Errorf("another worker's result is answered %d %s", status, text)
	}
	var beat struct {
		Acknowledged bool
		ShouldDrain  bool `json:"should_drain"`
		Tasks        []lease
	}
	m.must(t, "POST", m.path+"/heartbeat",
		`{"current_load":1,"status":"busy","health":{"memory_usage_percent":65},"current_tasks":["`+id.String()+`"]}`, &beat)
	if !beat.Acknowledged || beat.ShouldDrain || len(beat.Tasks) != 1 || beat.Tasks[0].Status != "held" {
		t.Errorf("the heartbeat is answered %+v", beat)
	}
	m.must(t, "POST", m.path+"/result",
		ofTask+`,"status":"completed","result":{"frames":1000},"execution_duration_seconds":45.2}`, nil)
	if status, _ := m.send(t, "POST", m.path+"/result", ofTask+`,"status":"completed"}`, nil); status != 409 {
		t.Errorf("the same result again is answered %d", status)
	}
	if task := s.same(t, id, queueapi.QueueCompleted); string(task.Result) != `{"frames":1000}` || task.Progress != 100 ||
		len(task.StateHistory) != 4 {
		t.Errorf("in the end it is %+v", task)
	}
	stats, err := s.QueueStats(s.ctx, queueapi.QueueFilter{})
	if err != nil || stats.Queue.TotalDepth != 0 || stats.Workers.Total != 2 || stats.Workers.Busy != 0 ||
		stats.Throughput.CompletedLastMinute != 1 {
		t.Errorf("the numbers are %+v, %v", stats, err)
	}
}

// same compares a task through the SDK and from the engine.
func (s *server) same(t *testing.T, id uuid.UUID, want queueapi.QueueStatus) *queueapi.QueueTask {
	t.Helper()
	far, err := s.QueueTask(s.ctx, id, true)
	if err != nil || far.Status != want {
		t.Fatalf("the task is %+v, %v; want %s", far, err, want)
	}
	near, err := s.engine.QueueTask(s.ctx, id, true)
	if err != nil {
		t.Fatal(err)
	}
	near.CurrentStateDurationSeconds = far.CurrentStateDurationSeconds // time passes
	near.EstimatedWaitSeconds, near.EstimatedStartTime = far.EstimatedWaitSeconds, far.EstimatedStartTime
	a, err := json.Marshal(near)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(far)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("near it is %s, far it is %s", a, b)
	}
	return far
}

// TestQueueFailsByHand: a failed attempt is repeated, a final one is the end, and a worker learns of a cancellation.
func TestQueueFailsByHand(t *testing.T) { onEveryQueue(t, testQueueFailsByHand) }

func testQueueFailsByHand(t *testing.T, s *server) {
	m := s.join(t, `{}`)
	enqueue := func() (uuid.UUID, string) {
		t.Helper()
		receipt, err := s.Enqueue(s.ctx, queueapi.EnqueueTask{TaskType: "job"})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.poll(t, `{"start":true,"wait_ms":5000}`); len(got) != 1 || got[0].TaskID != receipt.TaskID {
			t.Fatalf("the poll brings %+v", got)
		}
		return receipt.TaskID, `{"task_id":"` + receipt.TaskID.String() + `"`
	}
	id, ofTask := enqueue()
	m.must(t, "POST", m.path+"/result", ofTask+`,"status":"failed","error":"no answer"}`, nil)
	if got := s.same(t, id, queueapi.QueueQueued); got.NextRetryAt == nil || got.Error == nil ||
		got.Error.Message != "no answer" || !got.Error.Retryable {
		t.Errorf("after a failure it is %+v", got)
	}
	id, ofTask = enqueue()
	m.must(t, "POST", m.path+"/result",
		ofTask+`,"status":"failed","error":{"message":"bad input","code":"E_INPUT","retryable":false}}`, nil)
	if got := s.same(t, id, queueapi.QueueDeadLetter); got.Error == nil || got.Error.Code != "E_INPUT" ||
		got.Error.Class != tasker.ClassLogic || got.Error.Retryable || got.RetryCount != 0 {
		t.Errorf("after the last failure it is %+v", got)
	}

	id, ofTask = enqueue()
	cancelled, err := s.CancelQueueTask(s.ctx, id, queueapi.QueueCancel{Reason: "late"})
	if err != nil || !cancelled.WasExecuting || !cancelled.WorkerNotified || cancelled.NotifiedBy == nil ||
		cancelled.Status != queueapi.QueueStopped {
		t.Errorf("the cancellation is answered %+v, %v", cancelled, err)
	}
	var beat struct{ Tasks []lease }
	if m.must(t, "POST", m.path+"/heartbeat", `{"current_tasks":["`+id.String()+`"]}`, &beat); len(beat.Tasks) != 1 ||
		beat.Tasks[0].Status != "cancelled" {
		t.Errorf("the heartbeat is answered %+v", beat)
	}
	if status, text := m.send(t, "POST", m.path+"/result", ofTask+`,"status":"completed"}`, nil); status != 409 ||
		!strings.Contains(text, "cancelled") {
		t.Errorf("a result after that is answered %d %s", status, text)
	}
	far, farErr := s.CancelQueueTask(s.ctx, id, queueapi.QueueCancel{})
	near, nearErr := s.engine.CancelQueueTask(s.ctx, id, queueapi.QueueCancel{})
	if farErr != nil || nearErr != nil || jsonOf(t, far) != jsonOf(t, cancelled) ||
		jsonOf(t, near) != jsonOf(t, cancelled) {
		t.Errorf("a second cancellation is answered %+v, %v through the SDK, %+v, %v by the engine", far, farErr, near,
			nearErr)
	}
	s.same(t, id, queueapi.QueueStopped)
}

func TestQueueBadTasks(t *testing.T) { onEveryStore(t, testQueueBadTasks) }

func testQueueBadTasks(t *testing.T, s *server) {
	for name, test := range map[string]struct {
		task         queueapi.EnqueueTask
		place, words string
	}{
		"ControlCharacter": {queueapi.EnqueueTask{TaskType: "\x1b[31mred"}, "/task_type", "control character U+001B"},
		"Oversized": {queueapi.EnqueueTask{TaskType: "h",
			Parameters: json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`)}, "/parameters", "the limit is 262144"},
		"Priority": {queueapi.EnqueueTask{TaskType: "h", Priority: "soon"}, "/priority", "soon"},
		"User":     {queueapi.EnqueueTask{TaskType: "h", UserID: "a\nb"}, "/user_id", "control character"},
		"Tag": {queueapi.EnqueueTask{TaskType: "h", Tags: []string{"\x1b]0;owned\a"}}, "/tags/0",
			"control character"},
		"Capability": {queueapi.EnqueueTask{TaskType: "h", RequiredCapabilities: []string{"\x00"}},
			"/required_capabilities/0", "control character"},
		"Trace": {queueapi.EnqueueTask{TaskType: "h", TraceID: "xyz"}, "/trace_id", "32 hexadecimal digits"},
	} {
		for _, tasks := range [][]queueapi.EnqueueTask{{test.task}, {{TaskType: "good"}, test.task}} {
			_, near := s.engine.EnqueueTasks(s.ctx, queueapi.EnqueueRequest{Tasks: tasks})
			_, far := s.EnqueueTasks(s.ctx, queueapi.EnqueueRequest{Tasks: tasks})
			for where, err := range map[string]error{"the engine": near, "the SDK": far} {
				at := "/tasks/" + strconv.Itoa(len(tasks)-1) + test.place
				if where == "the SDK" && len(tasks) == 1 {
					at = test.place // it sent the one task
				}
				if e, ok := err.(*tasker.Error); !ok || e.Code != tasker.CodeInvalid || places(e) != at ||
					!strings.Contains(e.Error(), test.words) {
					t.Errorf("%s: %d tasks through %s are answered %.500v", name, len(tasks), where, err)
				}
			}
		}
	}
	s.empty(t)
}

// TestQueueKeyIsAtomic: of concurrent submissions under one key, one creates.
func TestQueueKeyIsAtomic(t *testing.T) { onEveryStore(t, testQueueKeyIsAtomic) }

func testQueueKeyIsAtomic(t *testing.T, s *server) {
	var created atomic.Int64
	ids := make([]uuid.UUID, 16)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			receipt, err := s.Enqueue(s.ctx, queueapi.EnqueueTask{TaskType: "h", IdempotencyKey: "order-7"})
			if err != nil {
				t.Error(err)
			}
			if receipt.Created {
				created.Add(1)
			}
			ids[i] = receipt.TaskID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the answers name %s and %s", ids[0], id)
		}
	}
	if created.Load() != 1 {
		t.Errorf("%d tasks were created", created.Load())
	}
}

// TestQueuePlacesOverHTTP: a batch is in order, and its places decrease as workers take from the head; waits appear
// after a measurement.
func TestQueuePlacesOverHTTP(t *testing.T) { onEveryQueue(t, testQueuePlacesOverHTTP) }

func testQueuePlacesOverHTTP(t *testing.T, s *server) {
	tasks := make([]queueapi.EnqueueTask, 20)
	for i := range tasks {
		tasks[i] = queueapi.EnqueueTask{TaskType: "job", Parameters: json.RawMessage(strconv.Itoa(i))}
	}
	receipts, err := s.EnqueueTasks(s.ctx, queueapi.EnqueueRequest{Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range receipts {
		got := s.same(t, r.TaskID, queueapi.QueueQueued)
		if *r.PositionInQueue != i+1 || *got.PositionInQueue != i+1 || r.EstimatedWaitSeconds != nil ||
			*got.QueueScore != *r.QueueScore {
			t.Errorf("task %d stands at %d, then at %d", i, *r.PositionInQueue, *got.PositionInQueue)
		}
	}
	urgent, err := s.Enqueue(s.ctx, queueapi.EnqueueTask{TaskType: "job", Priority: tasker.High})
	if err != nil || *urgent.PositionInQueue != 1 || *urgent.QueueScore >= *receipts[0].QueueScore {
		t.Errorf("an urgent one stands at %+v, %v", urgent, err)
	}
	m := s.join(t, `{"capacity":10}`)
	for range 3 {
		if got := m.poll(t, `{"start":true}`); len(got) != 1 {
			t.Fatalf("the poll brings %+v", got)
		}
	}
	last := s.same(t, receipts[19].TaskID, queueapi.QueueQueued) // two of the batch are gone, and the urgent one
	if *last.PositionInQueue != 18 || last.EstimatedWaitSeconds == nil || *last.EstimatedWaitSeconds < 0 ||
		last.EstimatedStartTime == nil {
		t.Errorf("the last stands at %s", fmt.Sprint(last.QueuePlace))
	}
	await.Until(t, "the numbers are those of now", func() bool {
		stats, err := s.QueueStats(s.ctx, queueapi.QueueFilter{Namespaces: []string{"default"}})
		return err == nil && stats.Throughput.HandedOutLastMinute == 3 && stats.Queue.TotalDepth == 18 &&
			stats.Queue.Executing == 3 && stats.Queue.ByPriority["medium"] == 18 &&
			stats.Queues["medium"].Executing == 2 && stats.Queues["high"].Executing == 1 && !stats.Queue.Sampled
	})
}
