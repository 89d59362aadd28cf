package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestRefusedBodies(t *testing.T) {
	t.Parallel()
	const tasks, batch = "/v1/tasks", "/v1/tasks/batch"
	step := "/v1/tasks/" + taskID.String() + "/workflow_steps/" + stepID.String()
	worker := "/internal/workers/" + workerID.String()
	id := `"step_uuid":"` + stepID.String() + `"`
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	for name, c := range map[string]struct {
		path, body string
		at         string // locations of the details
		says       string // part of the answer
	}{
		"Empty":         {tasks, "", "", "a body is required"},
		"Blank":         {tasks, " \n", "", "a body is required"},
		"BlankOptional": {"/internal/workers/register", " ", "", "a body is required"},
		"NotJSON":       {tasks, `hello`, "", "not valid JSON"},
		"Cut":           {tasks, `{"name":"x"`, "", "unexpected end of JSON input"},
		"TwoDocuments":  {tasks, `{"name":"x"}{}`, "", "line 1, column 13 (byte 13)"},
		"LineAndColumn": {tasks, "{\n  \"name\": \"x\",\n  oops\n}", "", "line 3, column 3 (byte 20)"},
		"NaN":           {tasks, `{"context":NaN}`, "", "not valid JSON"},
		"Comment":       {tasks, `{"name":"x" /* so */}`, "", "not valid JSON"},
		"BadUTF8":       {tasks, "{\"context\":\"\xff\"}", "", "not valid UTF-8, at byte 12"},
		"TooDeep": {tasks, `{"context":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + `}`, "",
			"exceeded max depth"},
		"NotAnObject":    {tasks, `[1]`, "", "must be an object, not an array"},
		"Null":           {tasks, `null`, "", "must be an object, not null"},
		"Unknown":        {tasks, `{"nmae":"x"}`, "/nmae", "is not a known property"},
		"UnknownEscaped": {tasks, `{"a/b~c.d[0]":1}`, "/a~1b~0c.d[0]", "not a known property"},
		"WrongCase":      {tasks, `{"Name":"x"}`, "/Name", "not a known property"},
		"Twice":          {tasks, `{"name":"x","n\u0061me":"y"}`, "/name", "appears twice"},
		"Base64": {"/v1/dead-letters", `{"source":"s","reports":[{"failure":{"message":"m"},"payload_base64":"!!"}]}`,
			"/reports/0/payload_base64", "must be base64"},
		"WrongType":     {tasks, `{"name":7}`, "/name", "must be a string, not a number"},
		"NumberForList": {tasks, `{"tags":"x"}`, "/tags", "must be an array, not a string"},
		"ItemType":      {tasks, `{"tags":["a",null,{}]}`, "/tags/1 /tags/2", "must be a string, not an object"},
		"TooLong": {tasks, `{"name":"` + strings.Repeat("x", 256) + `"}`, "/name",
			"at most 255 characters, not 256"},
		"TooMany":        {tasks, `{"tags":[` + strings.Repeat(`"a",`, 32) + `"a"]}`, "/tags", "at most 32 items, not 33"},
		"TooSmall":       {tasks, `{"timeout_seconds":-1}`, "/timeout_seconds", "must be at least 0"},
		"TooBig":         {tasks, `{"max_retries":1001}`, "/max_retries", "must be at most 1000"},
		"Fraction":       {tasks, `{"max_retries":1.5}`, "/max_retries", "must be an integer"},
		"Exponent":       {tasks, `{"max_retries":15e-1}`, "/max_retries", "must be an integer"},
		"HugeExponent":   {tasks, `{"max_retries":1e999999999}`, "/max_retries", "must be an integer"},
		"ZerosAndTooBig": {tasks, `{"max_retries":1.001e6}`, "/max_retries", "must be at most 1000"},
		"HugeInteger":    {tasks, `{"max_retries":99999999999999999999}`, "/max_retries", "must be an integer"},
		"HugeNumber": {worker + "/result", `{` + id + `,"token":"1","status":"snoozed","snooze_seconds":1e999}`,
			"/snooze_seconds", "too large a number"},
		"Priority":     {tasks, `{"priority":101}`, "/priority", "must be at most 100"},
		"PriorityType": {tasks, `{"priority":true}`, "/priority", "must be an integer, not a boolean"},
		"Time":         {tasks, `{"run_at":"tomorrow"}`, "/run_at", "must be a time such as"},
		"TimeOfTheYear0": {tasks, `{"run_at":"0000-01-01T00:00:00+23:59"}`, "/run_at",
			"must be after 1970-01-01T00:00:00Z and before 9000"},
		"TimeTooLate": {tasks, `{"run_at":"9999-12-31T23:59:59Z"}`, "/run_at",
			"must be after 1970-01-01T00:00:00Z and before 9000"},
		"TimeOutOfRange": {tasks, `{"run_at":"2026-13-01T00:00:00Z"}`, "/run_at", "must be a time such as"},
		"Bool":           {batch, `{"tasks":[{}],"item_errors":"yes"}`, "/item_errors", "must be a boolean, not a string"},
		"Missing":        {batch, `{}`, "/tasks", "is required"},
		"NullRequired":   {batch, `{"tasks":null}`, "/tasks", "must be an array, not null"},
		"NoItems":        {batch, `{"tasks":[]}`, "/tasks", "at least 1 items"},
		"DeepInBatch": {batch, `{"tasks":[{"name":"x"},{"name":"x"},{"name":"x"},{"context":1,"contxt":1}]}`,
			"/tasks/3/contxt", "not a known property"},
		"Several": {batch, `{"tasks":[{"name":1},{"nome":1}],"item":1}`, "/tasks/0/name /tasks/1/nome /item",
			"the body breaks 3 rules"},
		"Enum": {step, `{"action_type":"explode","reason":"x"}`, "/action_type",
			"must be one of reset_for_retry, resolve_manually, complete_manually, approve, reject"},
		"EmptyText": {step, `{"action_type":"reset_for_retry","reason":""}`, "/reason", "at least 1 characters"},
		"MissingInner": {step, `{"action_type":"complete_manually","reason":"x","completion_data":{}}`,
			"/completion_data/result", "is required"},
		"UUID": {"/v1/tasks/cancel", `{"task_uuids":["` + taskID.String() + `","x"]}`, "/task_uuids/1",
			"must be a UUID"},
		"LooseUUID": {"/v1/tasks/cancel", `{"task_uuids":["{` + taskID.String() + `}"]}`, "/task_uuids/0",
			"must be a UUID"},
		"SingleResult":    {worker + "/result", `{` + id + `,"status":"completed"}`, "/token", "is required"},
		"TokenIsNoNumber": {worker + "/result", `{` + id + `,"token":1,"status":"completed"}`, "/token", "must be a string"},
		"LongToken": {worker + "/result", `{` + id + `,"token":"` + strings.Repeat("1", 256) +
			`","status":"completed"}`, "/token", "at most 255"},
		"SingleStatus": {worker + "/result", `{` + id + `,"token":"1","status":"done"}`, "/status",
			"must be one of completed"},
		"FailureMessage": {worker + "/result", `{` + id + `,"token":"1","status":"failed","error":{}}`, "/error/message",
			"is required"},
		"Mixed": {worker + "/start", `{"steps":[],` + id + `,"token":"1"}`, "/steps /step_uuid /token",
			"at least 1 items"},
		"MapValue": {worker + "/heartbeat", `{"health":{"cpu":0.5,"mem":"much"}}`, "/health/mem",
			"must be a number, not a string"},
		"ManyProblems": {batch, `{"tasks":[` + strings.Repeat(`{"a":1},`, 99) + `{}]}`,
			strings.TrimSpace(numbered("/tasks/%d/a", 50)), "50 rules or more"},
		"ManyItems": {batch, `{"tasks":[` + strings.Repeat(`{},`, 10_000) + `{}]}`, "/tasks",
			"at most 10000 items, not 10001"},
		"ManyItemsOfLarge": {batch, `{"tasks":[` + strings.Repeat(`{},`, 100_000) + `{}]}`, "/tasks",
			"at most 10000 items, not 100001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, status, code := http.MethodPost, 400, tasker.CodeInvalid
			if c.path == step {
				method = http.MethodPatch
			}
			if strings.HasPrefix(name, "ManyItems") {
				status, code = 413, tasker.CodeTooLarge
			}
			got := a.do(t, method, c.path, c.body)
			p := got.problem(t)
			if got.status != status || p.Code != code || at(p) != c.at {
				t.Errorf("answer is %d at %q, want %d at %q: %.300s", got.status, at(p), status, c.at, got.body)
			}
			if !strings.Contains(got.body, c.says) {
				t.Errorf("the answer lacks %q: %.300s", c.says, got.body)
			}
		})
	}
	t.Cleanup(func() {
		if f.called() != 0 {
			t.Error("a refused body reached the backend")
		}
	})
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+" ", i)
	}
	return b.String()
}

// JSON has one kind of number: an integer may have a point or an exponent.
func TestIntegersInAnyForm(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	filler := `"context":"` + strings.Repeat("x", 300<<10) + `",`
	for form, want := range map[string]int{"59": 59, "59.0": 59, "59.000": 59, "5.9e1": 59, "5.9E+1": 59, "590e-1": 59,
		"1e2": 100, "0e5": 0, "0.0": 0, "-0.0": 0} {
		for _, more := range []string{"", filler} { // the decoder reads small and large bodies in different orders
			body := `{` + more + `"task_type":"h","max_retries":` + form + `,"tags":["a"],"timeout_seconds":` + form +
				`,"priority":` + form + `}`
			if got := a.do(t, "POST", "/v1/tasks", body); got.status != 201 {
				t.Fatalf("%s is answered %d %.300s", form, got.status, got.body)
			}
			sent := last[tasker.SubmitRequest](f).Tasks[0]
			if *sent.MaxRetries != want || sent.TimeoutSeconds != want || sent.Priority != tasker.Level(want) ||
				len(sent.Tags) != 1 || (more != "") != (sent.Context != nil) {
				t.Errorf("%s is read as %d, %d, %s", form, *sent.MaxRetries, sent.TimeoutSeconds, sent.Priority)
			}
		}
	}
}

func TestAcceptedBodies(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	for name, body := range map[string]string{
		"NullIsAbsent":  `{"name":"x","tags":null,"context":null,"run_at":null,"priority":null,"max_retries":null}`,
		"Spaces":        " {\r\n\t\"name\" : \"x\" , \"tags\" : [ ] } \n",
		"Escapes":       `{"n\u0061me":"\"\\\/\b\f\n\r\t\u00fc\ud83d\ude00"}`,
		"LongestName":   `{"name":"` + strings.Repeat("ü", 255) + `"}`,
		"LongestQuoted": `{"name":"` + strings.Repeat(`\u00fc`, 255) + `"}`,
		"PriorityName":  `{"priority":"high"}`,
		"PriorityLevel": `{"priority":0}`,
		"AnyContext":    `{"context":[{"a":[{}]},"}]",-1.5e-7,true,false,null,[]]}`,
		"Time":          `{"run_at":"2026-01-31T12:00:00.123456789+01:00"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := a.do(t, "POST", "/v1/tasks", body); got.status != 201 {
				t.Errorf("answer is %d %s", got.status, got.body)
			}
		})
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	for header, want := range map[string]int{
		"Content-Type: application/json":                 201,
		"Content-Type: application/json; charset=utf-8":  201,
		"Content-Type: Application/JSON;charset=UTF-8":   201,
		"Content-Type: application/json; charset=latin1": 415,
		"Content-Type: ":                                   415,
		"Content-Type: text/plain":                         415,
		"Content-Type: application/x-www-form-urlencoded":  415,
		"Content-Type: application/yaml":                   415, // templates only
		"Content-Type: application/json; charset":          415,
		"Content-Encoding: gzip":                           415,
		"Content-Encoding: identity":                       201,
		"Accept: text/html":                                201,
		"Content-Type: application/json; version=1; a=\"b": 415,
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			got := a.do(t, "POST", "/v1/tasks", `{"name":"x"}`, header)
			if got.status != want {
				t.Errorf("answer is %d %s, want %d", got.status, got.body, want)
			}
			if want == 415 {
				if p := got.problem(t); p.Code != tasker.CodeInvalid || p.Status != 415 {
					t.Errorf("problem is %s", got.body)
				}
			}
		})
	}
}

type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{Limits: httpapi.Limits{BodyBytes: 1000, BatchBodyBytes: 2000}})
	fill := func(n int, body string) string { return body + strings.Repeat(" ", n-len(body)) }

	t.Run("AtTheLimit", func(t *testing.T) {
		t.Parallel()
		if got := a.do(t, "POST", "/v1/tasks", fill(1000, `{"name":"x"}`)); got.status != 201 {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
		if got := a.do(t, "POST", "/v1/tasks/batch", fill(2000, `{"tasks":[{}]}`)); got.status != 200 {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
	})
	t.Run("OneLetter", func(t *testing.T) {
		t.Parallel()
		const letter = 3 << 20
		a := newAPI(t, f, httpapi.Options{DeadLetters: fakeInbox{f},
			Limits: httpapi.Limits{BodyBytes: 1000, BatchBodyBytes: 2000, LetterBytes: letter}})
		report := `{"source":"s","reports":[{"failure":{"message":"m"},"payload_base64":"` +
			base64.StdEncoding.EncodeToString(make([]byte, letter)) + `"}]}`
		if got := a.do(t, "POST", "/v1/dead-letters", report); got.status != 200 {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
		if got := a.do(t, "POST", "/v1/dead-letters", fill(5<<20+1, `{}`)); got.status != 413 {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
	})
	t.Run("OneOver", func(t *testing.T) {
		t.Parallel()
		for path, n := range map[string]int{"/v1/tasks": 1001, "/v1/tasks/batch": 2001, "/v1/templates": 1001} {
			got := a.do(t, "POST", path, fill(n, `{}`))
			if p := got.problem(t); got.status != 413 || p.Code != tasker.CodeTooLarge ||
				!strings.Contains(p.Detail, fmt.Sprint(n-1)) {
				t.Errorf("answer is %d %s", got.status, got.body)
			}
		}
	})
	t.Run("AnnouncedIsNotRead", func(t *testing.T) {
		t.Parallel()
		body := &endless{}
		r := httptest.NewRequest("POST", "/v1/tasks", io.NopCloser(body))
		r.ContentLength = 1 << 40
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		a.handler.ServeHTTP(w, r)
		if w.Code != 413 || body.read != 0 || w.Header().Get("Connection") != "close" {
			t.Errorf("answer is %d after reading %d bytes", w.Code, body.read)
		}
	})
	t.Run("EndlessIsCut", func(t *testing.T) {
		t.Parallel()
		body := &endless{}
		r := httptest.NewRequest("POST", "/v1/tasks", io.NopCloser(body))
		r.ContentLength = -1
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		a.handler.ServeHTTP(w, r)
		if w.Code != 413 || body.read > 4096 {
			t.Errorf("answer is %d after reading %d bytes", w.Code, body.read)
		}
	})
}

func TestTenMegabyteBatch(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	task := `{"name":"x","context":"` + strings.Repeat("a", 100<<10) + `"}`
	body := `{"tasks":[` + strings.Repeat(task+",", 99) + task + `]}`

	if got := a.do(t, "POST", "/v1/tasks/batch", body); got.status != 200 ||
		len(last[tasker.SubmitRequest](f).Tasks) != 100 {
		t.Errorf("a batch of 10 MB is answered %d %.200s", got.status, got.body)
	}
	if got := a.do(t, "POST", "/v1/tasks", body); got.status != 413 {
		t.Errorf("a task of 10 MB is answered %d %.200s", got.status, got.body)
	}
	if got := a.do(t, "POST", "/v1/tasks/batch", body[:len(body)-1]); got.status != 400 {
		t.Errorf("10 MB of broken JSON are answered %d %.200s", got.status, got.body)
	}
	if got := a.do(t, "POST", "/v1/tasks/batch", body+strings.Repeat(" ", 7<<20)); got.status != 413 {
		t.Errorf("17 MB are answered %d %.200s", got.status, got.body)
	}
}

func TestItemErrors(t *testing.T) {
	t.Parallel()
	const body = `{"tasks":[{"name":"a"},{"nome":"b"},{"name":"c"},{"priority":{}},{"name":"e"}],"item_errors":%v}`
	t.Run("OneByOne", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", "/v1/tasks/batch", fmt.Sprintf(body, true))
		req := last[tasker.SubmitRequest](f)
		if got.status != 200 || len(req.Tasks) != 3 || req.Tasks[2].Name != "e" || !req.ItemErrors {
			t.Fatalf("answer is %d %s, the backend got %+v", got.status, got.body, req)
		}
		if strings.Count(got.body, `"created":true`) != 3 || !strings.Contains(got.body, `"/tasks/1/nome"`) ||
			!strings.Contains(got.body, `"/tasks/3/priority"`) {
			t.Errorf("answer is %s", got.body)
		}
	})
	t.Run("LocationsOfTheBackend", func(t *testing.T) {
		t.Parallel()
		f := &fake{item: &tasker.Error{Code: tasker.CodeInvalid, Message: "no",
			Details: []tasker.Detail{{Location: "/tasks/1/context", Message: "no"}}}}
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", "/v1/tasks/batch", fmt.Sprintf(body, true))
		if !strings.Contains(got.body, `"/tasks/2/context"`) {
			t.Errorf("answer is %s", got.body)
		}
	})
	t.Run("Whole", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", "/v1/tasks/batch", fmt.Sprintf(body, false))
		if p := got.problem(t); got.status != 400 || at(p) != "/tasks/1/nome /tasks/3/priority" || f.called() != 0 {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
	})
	t.Run("AllRefused", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", "/v1/tasks/batch", `{"tasks":[{"x":1}],"item_errors":true}`)
		if got.status != 200 || !strings.Contains(got.body, `"/tasks/0/x"`) || f.called() != 0 {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
	})
	t.Run("TheRestMustBeGood", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", "/v1/tasks/batch",
			`{"tasks":[{"x":1}],"item_errors":true,"y":1}`)
		if p := got.problem(t); got.status != 400 || at(p) != "/tasks/0/x /y" || f.called() != 0 {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
	})
	t.Run("TooManyToSalvage", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", "/v1/tasks/batch",
			`{"tasks":[`+strings.Repeat(`{"x":1},`, 1000)+`{}],"item_errors":true}`)
		if got.problem(t); got.status != 400 || f.called() != 0 {
			t.Errorf("answer is %d %.200s", got.status, got.body)
		}
	})
	t.Run("Results", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		id := `"step_uuid":"` + stepID.String() + `","token":"1"`
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", "/internal/workers/"+workerID.String()+"/result",
			`{"results":[{`+id+`,"status":"completed"},{`+id+`,"status":"done"}]}`)
		if got.status != 200 || len(last[protocol.SettleRequest](f).Results) != 1 ||
			!strings.Contains(got.body, `"/results/1/status"`) {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
		if strings.Count(got.body, stepID.String()) != 2 {
			t.Errorf("an answer does not name its step: %s", got.body)
		}
	})
}

func TestBuffersAreNotShared(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	a.do(t, "POST", "/v1/tasks", `{"context":{"first":"aaaaaaaaaaaaaaaa"}}`)
	kept := last[tasker.SubmitRequest](f).Tasks[0].Context
	for range 10 {
		a.do(t, "POST", "/v1/tasks", `{"context":{"later":"bbbbbbbbbbbbbbbb"}}`)
	}
	if !bytes.Equal(kept, []byte(`{"first":"aaaaaaaaaaaaaaaa"}`)) {
		t.Errorf("the first context has become %s", kept)
	}
}
