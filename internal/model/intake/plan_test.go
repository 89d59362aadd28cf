package intake_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
)

func plan(t *testing.T, in deadletter.Intake) *intake.Plan {
	t.Helper()
	s := deadletter.Source{Namespace: "default", Name: "jobs", Driver: "memory", Queue: "q", Intake: &in}.WithDefaults()
	if problems := s.Validate(); len(problems) > 0 {
		t.Fatalf("the source is not valid: %v", problems)
	}
	return intake.NewPlan(&s)
}

func message(payload string) *intake.Message {
	return &intake.Message{Queue: "q", Position: "q@1", MessageID: "m1", Content: deadletter.Content{Key: []byte("k1"),
		Headers: []deadletter.Header{{Name: "type", Value: []byte("resize")}, {Name: "bin", Value: []byte{0xff}}},
		Payload: []byte(payload)}}
}

func show(t *intake.Task, err error) string {
	var r *intake.Refusal
	if errors.As(err, &r) {
		return "refused: " + r.Code
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s%s %q key=%s corr=%s %v %s", t.TaskType, t.Template, t.Priority, t.Key, t.CorrelationID, t.Delay,
		t.Context)
}

func TestTask(t *testing.T) {
	t.Parallel()
	const job = `{"type":"scale","n":{"a/b":[10,20.50,true,null,{"x":1}]},"pri":7,"id":"j-1","wait":1.5}`
	for name, c := range map[string]struct {
		in      deadletter.Intake
		payload string
		want    string
	}{
		"Constant": {deadletter.Intake{TaskType: "scale", Priority: "high", IdempotencyKey: "message:id", Delay: "2s"},
			`[1]`, `scale "high" key=m1 corr= 2s [1]`},
		"Pointers": {deadletter.Intake{TaskType: "/type", Priority: "/pri", IdempotencyKey: "/id",
			CorrelationID: "/n/a~1b/1", Delay: "/wait"}, job, `scale "7" key=j-1 corr=20.50 1.5s ` + job},
		"Boolean":  {deadletter.Intake{TaskType: "/n/a~1b/2", IdempotencyKey: "/id"}, job, `true "" key=j-1 corr= 0s ` + job},
		"Header":   {deadletter.Intake{Template: "header:type", IdempotencyKey: "message:key"}, `{}`, `resize "" key=k1 corr= 0s {}`},
		"Queue":    {deadletter.Intake{TaskType: "message:queue", IdempotencyKey: "message:key"}, `{}`, `q "" key=k1 corr= 0s {}`},
		"LastName": {deadletter.Intake{TaskType: "/t", IdempotencyKey: "message:key"}, `{"t":"a","t":"b"}`, `b "" key=k1 corr= 0s {"t":"a","t":"b"}`},
		"NoPriority": {deadletter.Intake{TaskType: "x", Priority: "/p", Delay: "/d", CorrelationID: "header:none",
			IdempotencyKey: "message:id"}, `{"p":null}`, `x "" key=m1 corr= 0s {"p":null}`},
		"NoType":       {deadletter.Intake{TaskType: "/n/a~1b/3"}, job, "refused: no_task_type"},
		"NoTemplate":   {deadletter.Intake{Template: "/nothing/here"}, job, "refused: no_task_type"},
		"BeyondList":   {deadletter.Intake{TaskType: "/n/a~1b/5"}, job, "refused: no_task_type"},
		"LeadingZero":  {deadletter.Intake{TaskType: "/n/a~1b/00"}, job, "refused: no_task_type"},
		"ObjectAsType": {deadletter.Intake{TaskType: "/n"}, job, "refused: bad_value"},
		"ListAsType":   {deadletter.Intake{TaskType: "/n/a~1b"}, job, "refused: bad_value"},
		"NotJSON":      {deadletter.Intake{TaskType: "/type"}, "hello", "refused: not_json"},
		"InvalidUTF8":  {deadletter.Intake{TaskType: "/type"}, "{\"type\":\"\xff\"}", "refused: not_json"},
		"Deep":         {deadletter.Intake{TaskType: "/0"}, strings.Repeat("[", 201) + strings.Repeat("]", 201), "refused: not_json"},
		"Empty":        {deadletter.Intake{TaskType: "x"}, "", "refused: no_input"},
		"EmptyPointer": {deadletter.Intake{TaskType: "/t"}, "", "refused: not_json"},
		"BinaryHeader": {deadletter.Intake{TaskType: "header:bin"}, "{}", "refused: bad_value"},
		"NegativeWait": {deadletter.Intake{TaskType: "x", Delay: "/w"}, `{"w":-1}`, "refused: bad_value"},
		"EndlessWait":  {deadletter.Intake{TaskType: "x", Delay: "/w"}, `{"w":1e300}`, "refused: bad_value"},
		"NoNumber":     {deadletter.Intake{TaskType: "x", Delay: "/w"}, `{"w":"NaN"}`, "refused: bad_value"},
		"WordAsWait":   {deadletter.Intake{TaskType: "x", Delay: "/w"}, `{"w":"5s"}`, "refused: bad_value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := show(plan(t, c.in).Task(message(c.payload))); got != c.want {
				t.Errorf("it becomes %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestOrderingKey(t *testing.T) {
	t.Parallel()
	source := "orders"
	key := func(in string, change func(m *intake.Message)) string {
		s := deadletter.Source{Name: source, Intake: &deadletter.Intake{TaskType: "x", OrderingKey: in}}
		m := message(`{"k":7,"object":{}}`)
		change(m)
		of, err := intake.NewPlan(&s).Task(m)
		if err != nil {
			return err.Error()
		}
		return of.OrderingKey
	}
	with := func(k []byte) func(m *intake.Message) { return func(m *intake.Message) { m.Key = k } }
	none := func(*intake.Message) {}
	for in, want := range map[string]string{"": "", "/k": "orders/7", "message:key": "orders/k1", "all": "orders/all",
		"/none": "", "header:type": "orders/resize",
		"/object": "the value at /object of the payload is an object or a list: a text or a number is needed"} {
		if got := key(in, none); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got := key("message:key", with(nil)); got != "" {
		t.Errorf("a message without a key has the ordering key %q", got)
	}
	seen := map[string]bool{}
	for _, k := range [][]byte{{0}, {0, 0}, {0xff}, []byte("a\nb"), []byte(strings.Repeat("x", 300)),
		[]byte(strings.Repeat("x", 301))} {
		got := key("message:key", with(k))
		if !strings.HasPrefix(got, "sha256/") || seen[got] || task.TextFault(got, task.MaxName) != "" {
			t.Errorf("the key %q gives %q", k, got)
		}
		seen[got] = true
	}
	for _, names := range [][2]string{{"a", "b/c"}, {"a/b", "c"}, {"sha256", "c"}, {"a/sha256", "c"}} {
		source = names[0]
		got := key("message:key", with([]byte(names[1])))
		if seen[got] || strings.HasPrefix(got, "sha256/") != (names[0] != "a") {
			t.Errorf("the key %q of the source %q gives %q", names[1], names[0], got)
		}
		seen[got] = true
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	key := func(source string, change func(m *intake.Message)) string {
		s := deadletter.Source{Name: source, Intake: &deadletter.Intake{TaskType: "x", IdempotencyKey: "/key"}}
		m := message(`{"key":null}`)
		change(m)
		of, err := intake.NewPlan(&s).Task(m)
		if err != nil {
			t.Fatal(err)
		}
		return of.Key
	}
	same := func(*intake.Message) {}
	seen := map[string]bool{key("a", same): true}
	if key("a", same) != key("a", func(m *intake.Message) { m.MessageID = "other" }) {
		t.Error("the position alone is not the identity")
	}
	for i, k := range []string{key("b", same), key("a", func(m *intake.Message) { m.Queue = "r" }),
		key("a", func(m *intake.Message) { m.Position = "q@2" }),
		key("a", func(m *intake.Message) { m.Position = "" }),
		key("a", func(m *intake.Message) { m.Position, m.MessageID = "", "q@1" })} {
		if seen[k] || k == "" || len(k) > task.MaxName {
			t.Errorf("key %d is %q", i, k)
		}
		seen[k] = true
	}
	if k := key("a", func(m *intake.Message) { m.Position, m.MessageID = "", "" }); k != "" {
		t.Errorf("a message without identity has the key %q", k)
	}
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	p := plan(t, deadletter.Intake{TaskType: "x", Input: deadletter.InputMessage})
	for _, payload := range []string{`{"a" : "<&>\u00e9", "a":1e400}`, "null", "  0", "{}\n", "\t[1] \r\n", "plain <text>", "\x00\xff", "", "[" + "\xff]"} {
		m := message(payload)
		m.SentAt = task.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		of, err := p.Task(m)
		if err != nil {
			t.Fatal(err)
		}
		if fault := task.JSONFault(of.Context, 1<<20); fault != "" {
			t.Errorf("the context of %q %s: %s", payload, fault, of.Context)
		}
		back, err := intake.Payload(of.Origin, of.Context)
		if err != nil || string(back) != payload {
			t.Errorf("%q comes back as %q, %v", payload, back, err)
		}
	}
	of, err := p.Task(message("x"))
	want := `{"payload":"x","encoding":"text","queue":"q","position":"q@1","message_id":"m1","key":"k1",` +
		`"headers":{"bin":[{"base64":"/w=="}],"type":["resize"]}}`
	if err != nil || string(of.Context) != want {
		t.Errorf("the context is\n%s, %v\nwant\n%s", of.Context, err, want)
	}
}

func FuzzTask(f *testing.F) {
	f.Add([]byte(`{"type":"a","p":[1]}`), "/type", true)
	f.Add([]byte("\xff{"), "/p/0", false)
	f.Add([]byte(`{"a":{"b":1}}`), "/a/b", true)
	f.Fuzz(func(t *testing.T, payload []byte, at string, wrapped bool) {
		in := deadletter.Intake{TaskType: at}
		if wrapped {
			in.Input = deadletter.InputMessage
		}
		s := deadletter.Source{Name: "s", Driver: "memory", Queue: "q", MaxReplays: 3, Intake: &in}
		if len(s.Validate()) > 0 {
			return
		}
		of, err := intake.NewPlan(&s).Task(&intake.Message{Queue: "q", Content: deadletter.Content{Payload: payload}})
		if err != nil {
			var r *intake.Refusal
			if !errors.As(err, &r) || r.Code == "" || r.Reason == "" {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if wrapped && task.JSONFault(of.Context, len(of.Context)) != "" {
			t.Fatalf("the context is not JSON: %s", of.Context)
		}
		back, err := intake.Payload(of.Origin, of.Context)
		if err != nil || string(back) != string(payload) {
			t.Fatalf("%q comes back as %q, %v", payload, back, err)
		}
	})
}
