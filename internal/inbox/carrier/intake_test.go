package carrier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/redisqueue"
	"github.com/taskerhq/tasker/worker"
)

var byPayload = deadletter.Intake{TaskType: "/type", Priority: "/priority", MinPriority: "low", MaxPriority: "high",
	IdempotencyKey: "/id", CorrelationID: "/order", Tags: []string{"taken"}}

func (r *intakeRig) lines(n *node.Node) string {
	var b strings.Builder
	for _, t := range r.tasks(n) {
		whole, err := tasker.NewClient(n).Task(r.t.Context(), t.TaskUUID, 0)
		if err != nil {
			r.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %s %s\n", t.Name, t.Priority, t.CorrelationID, whole.Context)
	}
	return b.String()
}

func (r *intakeRig) cancel(n *node.Node, id uuid.UUID) {
	r.t.Helper()
	if _, err := n.CancelTasks(r.t.Context(), tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id}}); err != nil {
		r.t.Fatal(err)
	}
}

func TestIntake(t *testing.T) {
	t.Parallel()
	onEveryBroker(t, func(t *testing.T, r *intakeRig) {
		n, _, _ := r.start()
		deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
		r.put(`{"type":"resize","id":"a","order":7,"b":1,"b":2}`, // a name twice: it stays
			`{"type":"mail","id":"b","priority":90}`,
			`{"type":"mail","id":"c","priority":1}`,
			`{"type":"mail","id":"b","priority":90}`, // b again
			`{"type":"mail","id":"b","other":true}`,  // b with other content
			"no JSON", "\xff\x00\xfe", `{"type":"mail","x":"`+"\xc3\x28"+`"}`,
			`{"type":"mail","x":`+deep+`}`, `{"id":"z"}`, `{"type":{"a":1}}`, `{"type":"mail","priority":"soon"}`,
			`{"type":"`+strings.Repeat("m", 300)+`"}`, `{"type":"mail","id":"l","x":"`+strings.Repeat("y", 10<<20)+`"}`,
			`{"type":"last","id":"d"}`)
		r.source(n, byPayload)
		await.Text(r.t, "the tasks", `resize medium 7 {"type":"resize","id":"a","order":7,"b":1,"b":2}
mail high  {"type":"mail","id":"b","priority":90}
mail low  {"type":"mail","id":"c","priority":1}
last medium  {"type":"last","id":"d"}
`, func() string { return r.lines(n) })
		const typeFault = "IntakeRefused bad_task_type: the task_type of the task is 300 bytes long; the limit is 255\n"
		await.Text(r.t, "the letters", `IntakeRefused bad_idempotency_key: its idempotency key names the task `+r.tasks(n)[1].TaskUUID.String()+
			`, which was submitted with another body
IntakeRefused not_json: the payload of the message is not JSON, and values are looked up in it
IntakeRefused not_json: the payload of the message is not JSON, and values are looked up in it
IntakeRefused not_json: the payload of the message is not JSON, and values are looked up in it
IntakeRefused not_json: the payload of the message is not JSON, and values are looked up in it
IntakeRefused no_task_type: the message names no task type: there is nothing at /type
IntakeRefused bad_value: the value at /type of the payload is an object or a list: a text or a number is needed
IntakeRefused bad_priority: "soon" is not a priority: use high, medium, low, or a level from 0 to 100
`+typeFault+`IntakeRefused bad_context: the context of the task is 10485791 bytes long; the limit is 262144: `+
			"store large data elsewhere and submit a reference\n", func() string { return r.letters(n) })
		await.Text(r.t, "what is left", "0", func() string { return fmt.Sprint(r.depth()) })
	})
}

func TestIntakeOfMessages(t *testing.T) {
	t.Parallel()
	onEveryBroker(t, func(t *testing.T, r *intakeRig) {
		n, _, _ := r.start()
		r.put("hello", "\xff\x00", `{"a": "<"}`)
		r.source(n, deadletter.Intake{TaskType: "any", Input: deadletter.InputMessage})
		shown := func() string {
			var b strings.Builder
			for line := range strings.Lines(r.lines(n)) {
				begin, _, _ := strings.Cut(line, `,"queue"`)
				b.WriteString(begin + "\n")
			}
			return b.String()
		}
		await.Text(r.t, "the tasks", `any medium  {"payload":"hello","encoding":"text"
any medium  {"payload":"/wA=","encoding":"base64"
any medium  {"payload":{"a": "<"},"encoding":"json"
`, shown)
	})
}

// Messages whose acknowledgement is lost come again and make no second task or letter, even if their key may be used
// again or the settings have changed. The last two need positions; RabbitMQ has only the sender's identifier.
func TestIntakeOnce(t *testing.T) {
	t.Parallel()
	onEveryBroker(t, func(t *testing.T, r *intakeRig) {
		positions := r.kind != "rabbitmq"
		r.config.ResubmitAfterTerminal = positions
		n, _, stop := r.start()
		r.loseAcks.Store(1 << 30)
		r.put(`{"type":"a"}`, `{"type":"b","id":"k","delay":3600}`, `{}`, `{"type":"a"}`)
		in := deadletter.Intake{TaskType: "/type", IdempotencyKey: "/id", Delay: "/delay"}
		if !positions { // a delay counts from each delivery, so the task would differ under its key
			in.Delay = ""
		}
		r.source(n, in)
		count := func(n *node.Node) func() string {
			return func() string { return fmt.Sprint(len(r.tasks(n)), " ", strings.Count(r.letters(n), "\n")) }
		}
		await.Text(r.t, "tasks and letters", "3 1", count(n))
		for _, task := range r.tasks(n) {
			r.cancel(n, task.TaskUUID)
		}
		await.Text(r.t, "lost acknowledgements", "true", func() string { return fmt.Sprint(r.loseAcks.Load() < 1<<30-2) })
		stop()
		r.loseAcks.Store(0)
		n, _, _ = r.start()
		if positions {
			in.Delay, in.CorrelationID = "", "message:queue"
			in.TaskType = "/other" // now none could be a task
			r.source(n, in)
			in.TaskType = "x"
			r.source(n, in)
		}
		r.put(`{"type":"later"}`)
		await.Text(r.t, "one task more", "4 1", count(n))
		await.Text(r.t, "what is left", "0", func() string { return fmt.Sprint(r.depth()) })
		await.Text(r.t, "tasks and letters", "4 1", count(n))
	})
}

// While the database is down the messages stay with the broker. A commit whose answer was lost is not repeated.
func TestIntakeRefusedByDatabase(t *testing.T) {
	t.Parallel()
	onEveryBroker(t, func(t *testing.T, r *intakeRig) {
		n, db, _ := r.start()
		r.source(n, deadletter.Intake{TaskType: "/type"})
		for round := range 3 {
			db.fail(2, 1)
			r.put(`{"type":"a"}`, `{}`, `{"type":"b"}`)
			await.Text(r.t, "tasks and letters", fmt.Sprint(2*(round+1), " ", round+1), func() string {
				return fmt.Sprint(len(r.tasks(n)), " ", strings.Count(r.letters(n), "\n"))
			})
		}
		await.Text(r.t, "what is left", "0", func() string { return fmt.Sprint(r.depth()) })
	})
}

func TestIntakeBackPressure(t *testing.T) {
	t.Parallel()
	onEveryBroker(t, func(t *testing.T, r *intakeRig) {
		r.config.Backpressure.Soft = 5
		n, _, _ := r.start()
		r.source(n, deadletter.Intake{TaskType: "a"})
		for range 3 {
			r.put(strings.Split(strings.TrimSpace(strings.Repeat("1 ", 10)), " ")...)
		}
		for seen := 0; seen < 30; {
			await.Text(r.t, "more tasks", "true", func() string { return fmt.Sprint(len(r.tasks(n)) > seen) })
			all := r.tasks(n)
			for _, task := range all[seen:] {
				r.cancel(n, task.TaskUUID)
			}
			seen = len(all)
		}
		await.Text(r.t, "what is left", "0", func() string { return fmt.Sprint(r.depth()) })
	})
}

// 10,000 messages become 10,000 tasks, even if the reading node changes in between.
func TestIntakeOfMany(t *testing.T) {
	t.Parallel()
	onEveryBroker(t, func(t *testing.T, r *intakeRig) {
		total := 10_000
		if testing.Short() {
			total = 1000
		}
		payloads := make([]string, total)
		for i := range payloads {
			payloads[i] = fmt.Sprintf(`{"n":%d}`, i)
		}
		r.config.Backpressure.Soft, r.config.Backpressure.HighOnly, r.config.Backpressure.AllowListOnly = -1, -1, -1
		n, _, stop := r.start()
		r.put(payloads...)
		r.source(n, deadletter.Intake{TaskType: "a", CorrelationID: "/n"})
		if strings.Contains(t.Name(), "PostgreSQL") {
			await.Text(r.t, "some tasks", "true", func() string { return fmt.Sprint(len(r.tasks(n)) > 0) })
			other, _, _ := r.start()
			stop()
			n = other
		}
		await.Text(r.t, "tasks", fmt.Sprint(total), func() string { return fmt.Sprint(len(r.tasks(n))) })
		await.Text(r.t, "what is left", "0", func() string { return fmt.Sprint(r.depth()) })
		seen := map[string]bool{}
		for _, task := range r.tasks(n) {
			if seen[task.CorrelationID] {
				t.Errorf("message %s is two tasks", task.CorrelationID)
			}
			seen[task.CorrelationID] = true
		}
	})
}

// Of the messages with one key only one task at a time runs, in order; other keys do not wait.
func TestIntakeInOrder(t *testing.T) {
	t.Parallel()
	onEveryBroker(t, func(t *testing.T, r *intakeRig) {
		n, _, _ := r.start()
		r.source(n, deadletter.Intake{TaskType: "a", OrderingKey: "/k", CorrelationID: "/n"})
		const keys, each = 3, 4
		var payloads []string
		for i := range keys * each {
			payloads = append(payloads, fmt.Sprintf(`{"k":"%d","n":"%d"}`, i%keys, i))
		}
		r.put(payloads...)
		await.Text(r.t, "tasks", fmt.Sprint(keys*each), func() string { return fmt.Sprint(len(r.tasks(n))) })
		for round := range each {
			want := map[string]bool{}
			for k := range keys {
				want[fmt.Sprint(round*keys+k)] = true
			}
			var heads []tasker.Task
			await.Text(r.t, "tasks with a turn", fmt.Sprint(keys), func() string {
				heads = slices.DeleteFunc(r.tasks(n), func(k tasker.Task) bool { return k.WaitsForTurn || k.State.Settled() })
				return fmt.Sprint(len(heads))
			})
			for _, h := range heads {
				if !want[h.CorrelationID] {
					t.Errorf("round %d: message %s of %s has the turn", round, h.CorrelationID, h.OrderingKey)
				}
				r.cancel(n, h.TaskUUID)
			}
		}
	})
}

func TestIntakePaused(t *testing.T) {
	t.Parallel()
	r := newIntakeRig(t, "memory", "SQLite")
	n, _, _ := r.start()
	r.source(n, deadletter.Intake{TaskType: "a"})
	r.put("1")
	await.Text(r.t, "tasks", "1", func() string { return fmt.Sprint(len(r.tasks(n))) })
	if _, err := n.Inbox().PauseSource(t.Context(), "default", "jobs", true, inbox.By{}); err != nil {
		t.Fatal(err)
	}
	r.put("2")
	if _, err := n.Inbox().SaveSource(t.Context(), &deadletter.Source{Namespace: "default", Name: "jobs", Driver: r.kind,
		URL: r.url, Queue: r.queue}, inbox.By{}); err != nil {
		t.Fatal(err)
	}
	await.Text(r.t, "letters", "1", func() string { return fmt.Sprint(strings.Count(r.letters(n), "\n")) })
	if got := len(r.tasks(n)); got != 1 {
		t.Errorf("%d tasks, want 1", got)
	}
}

// work runs a worker until the test ends. Its handler fails jobs by their payload.
func (r *intakeRig) work(n *node.Node) {
	r.t.Helper()
	w := worker.New(tasker.NewClient(n), &worker.Options{Name: "w"})
	worker.Handle(w, "a", func(_ context.Context, in json.RawMessage) (string, error) {
		if strings.Contains(string(in), "bad") {
			return "", worker.NonRetryable(&tasker.Failure{Type: "Bad", Message: "it is bad", Stack: "at x", HTTPStatus: 422,
				ResponseBody: "no"})
		}
		return "ok", nil
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
}

// A failed task goes to its source's queue as job_failure, with the job byte for byte.
func TestIntakeFailures(t *testing.T) {
	t.Parallel()
	onEveryBroker(t, func(t *testing.T, r *intakeRig) {
		n, _, _ := r.start()
		dead := r.queue + ":dead"
		if r.declare != nil {
			dead = "dlq:jobs"
		}
		r.source(n, deadletter.Intake{TaskType: "a", WriteFailures: dead})
		r.work(n)
		r.put(`{"n":1}`, `{"n" : 2, "x":"bad"}`, `{"n":3}`)
		letters := func() string {
			var b strings.Builder
			for _, m := range r.peek(dead) {
				f, err := redisqueue.ParseJobFailure(m.Payload)
				if err != nil {
					t.Fatalf("%s: %v", m.Payload, err)
				}
				fmt.Fprintf(&b, "%s %s: %s, %d, %s, %d %s, %d\n", f.Job, f.ErrorType, f.Error, f.Attempts, f.StackTrace,
					f.HTTPStatus, f.ResponseBody, len(f.RetryDelays))
				if f.Queue != r.queue || f.FirstFailedAt.IsZero() || f.LastFailedAt.Before(f.FirstFailedAt) {
					t.Errorf("it is %+v", f)
				}
			}
			return b.String()
		}
		const first = `{"n" : 2, "x":"bad"} Bad: it is bad, 1, at x, 422 no, 0` + "\n"
		await.Text(r.t, "the failures", first, letters)
		r.put(`["bad"]`)
		await.Text(r.t, "the failure", first+`["bad"] Bad: it is bad, 1, at x, 422 no, 0`+"\n", letters)
	})
}

// A failure that the broker refuses waits, counted by metrics, and is written once later.
func TestIntakeFailureIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newIntakeRig(t, "memory", "SQLite")
	n, _, _ := r.start()
	r.source(n, deadletter.Intake{TaskType: "a", WriteFailures: "dlq:later"})
	r.work(n)
	r.put(`{"x":"bad"}`)
	waiting := func() string {
		count, oldest, err := n.IntakeFailures(t.Context())
		if err != nil || (count == 0) != oldest.IsZero() {
			t.Errorf("%v: %d failures wait since %v", err, count, oldest)
		}
		return fmt.Sprint(count)
	}
	await.Text(r.t, "failures that wait", "1", waiting)
	r.declare("dlq:later")
	await.Text(r.t, "failures that wait", "0", waiting)
	got, err := r.driver.Peek(t.Context(), "dlq:later", 10)
	if err != nil || len(got) != 1 {
		t.Fatalf("%v: %d failures were written", err, len(got))
	}
	if f, err := redisqueue.ParseJobFailure(got[0].Payload); err != nil || f.ErrorType != "Bad" {
		t.Errorf("%v: it is %s", err, got[0].Payload)
	}
}

// A message whose unique key has a task is acknowledged, or becomes a letter with the rule refuse.
func TestIntakeUnique(t *testing.T) {
	t.Parallel()
	onEveryBroker(t, func(t *testing.T, r *intakeRig) {
		n, _, _ := r.start()
		for name, policy := range map[string]string{"keep": "return", "newest": "replace", "once": "refuse"} {
			yaml := "name: " + name + "\nversion: \"1\"\nunique: {by: [/n], on_conflict: " + policy + "}\n" +
				"steps: [{name: a, handler: h}]\n"
			if _, err := tasker.NewClient(n).RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: yaml}); err != nil {
				t.Fatal(err)
			}
		}
		r.put(`{"type":"keep","n":1,"x":1}`, `{"type":"keep","n":1,"x":2}`, `{"type":"keep","n":2}`,
			`{"type":"newest","n":1,"x":1}`, `{"type":"newest","n":1,"x":2}`, `{"type":"once","n":1,"x":1}`,
			`{"type":"once","n":1,"x":2}`)
		r.source(n, deadletter.Intake{Template: "/type"})
		await.Text(r.t, "what is left", "0", func() string { return fmt.Sprint(r.depth()) })
		live := func() string {
			var list []string
			for _, t := range r.tasks(n) {
				whole, err := tasker.NewClient(n).Task(r.t.Context(), t.TaskUUID, 0)
				if err != nil {
					r.t.Fatal(err)
				}
				if t.State != tasker.TaskCancelled {
					list = append(list, string(whole.Context)+"\n")
				}
			}
			slices.Sort(list)
			return strings.Join(list, "")
		}
		await.Text(r.t, "the tasks", `{"type":"keep","n":1,"x":1}
{"type":"keep","n":2}
{"type":"newest","n":1,"x":2}
{"type":"once","n":1,"x":1}
`, live)
		const refused = "IntakeRefused duplicate: its unique key names the task UUID, which guards the key\n"
		await.Text(r.t, "the letters", refused, func() string {
			return regexp.MustCompile(`[0-9a-f-]{36}`).ReplaceAllString(r.letters(n), "UUID")
		})
	})
}
