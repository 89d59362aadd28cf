package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
)

// api is a handler under test. It checks every answer against the OpenAPI document.
type api struct {
	t       *testing.T
	handler http.Handler
	doc     document
}

func newAPI(t *testing.T, backend httpapi.Backend, opts httpapi.Options) *api {
	t.Helper()
	if f, is := backend.(*fake); is && opts.DeadLetters == nil {
		opts.DeadLetters = fakeInbox{f}
		opts.Schedules = fakeSchedules{f}
		opts.Jobs = fakeJobs{f}
		opts.Messages = fakeMessages{f}
	}
	h := httpapi.New(backend, opts)
	return &api{t: t, handler: h, doc: documentOf(t, h, opts)}
}

// documents caches loaded documents: encoding and parsing one takes longer than most tests.
var documents = struct {
	mu sync.Mutex
	of map[string]document
}{of: map[string]document{}}

func documentOf(t *testing.T, h http.Handler, opts httpapi.Options) document {
	t.Helper()
	key := fmt.Sprint(opts.Limits, opts.Version, opts.DeadLetters != nil, opts.Front != nil, opts.Metrics != nil)
	documents.mu.Lock()
	defer documents.mu.Unlock()
	d, known := documents.of[key]
	if !known {
		d = loadDocument(t, h)
		documents.of[key] = d
	}
	return d
}

type response struct {
	status int
	header http.Header
	body   string
}

func (r response) problem(t *testing.T) web.Problem {
	t.Helper()
	var p web.Problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil ||
		r.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("not a problem: %d %s %s", r.status, r.header.Get("Content-Type"), r.body)
	}
	return p
}

func at(p web.Problem) string {
	var out []string
	for _, detail := range p.Errors {
		out = append(out, detail.Location)
	}
	return strings.Join(out, " ")
}

func (a *api) do(t *testing.T, method, target, body string, headers ...string) response {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	out := response{w.Code, w.Header(), w.Body.String()}
	a.doc.check(t, r, out)
	return out
}

type document struct {
	raw      map[string]any
	router   *http.ServeMux    // knows the patterns of the document
	compiler *lockedCompiler   // of response schemas
	ids      map[string]string // operation id by pattern
}

type lockedCompiler struct {
	mu sync.Mutex
	*jsonschema.Compiler
}

const documentURL = "http://tasker/openapi.json"

func loadDocument(t *testing.T, h http.Handler) document {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET /openapi.json: %d %s", w.Code, w.Body)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	d := document{raw: parsed.(map[string]any), router: http.NewServeMux(), ids: map[string]string{},
		compiler: &lockedCompiler{Compiler: jsonschema.NewCompiler()}}
	d.compiler.AssertFormat()
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource(documentURL, parsed); err != nil {
		t.Fatal(err)
	}
	for path, item := range d.raw["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			pattern := strings.ToUpper(method) + " " + path
			d.router.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
			d.ids[pattern] = op.(map[string]any)["operationId"].(string)
		}
	}
	return d
}

func pointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", "+", "%2B").Replace(name)
}

func (d document) compile(t *testing.T, fragment string) *jsonschema.Schema {
	t.Helper()
	d.compiler.mu.Lock()
	defer d.compiler.mu.Unlock()
	schema, err := d.compiler.Compile(documentURL + "#" + fragment)
	if err != nil {
		t.Fatalf("the document has no schema at %s: %v", fragment, err)
	}
	return schema
}

func (d document) lists(t *testing.T, operation string, status int) bool {
	t.Helper()
	for pattern, id := range d.ids {
		if id == operation {
			method, route, _ := strings.Cut(pattern, " ")
			return d.responses(method, route)[fmt.Sprint(status)] != nil
		}
	}
	t.Fatalf("the document has no operation %s", operation)
	return false
}

func (d document) responses(method, route string) map[string]any {
	operation := d.raw["paths"].(map[string]any)[route].(map[string]any)[strings.ToLower(method)]
	return operation.(map[string]any)["responses"].(map[string]any)
}

func (d document) check(t *testing.T, r *http.Request, got response) {
	t.Helper()
	_, pattern := d.router.Handler(r)
	method, route, found := strings.Cut(pattern, " ")
	if !found || got.status == http.StatusMethodNotAllowed {
		return // no operation: the page of documentation, an unknown route
	}
	listed, ok := d.responses(method, route)[fmt.Sprint(got.status)].(map[string]any)
	if !ok {
		t.Errorf("%s answers %d, which the document does not list: %s", pattern, got.status, got.body)
		return
	}
	at := "/paths/" + pointer(route) + "/" + strings.ToLower(method) + "/responses/" + fmt.Sprint(got.status)
	if ref, is := listed["$ref"].(string); is {
		at = strings.TrimPrefix(ref, "#")
		listed = d.raw["components"].(map[string]any)["responses"].(map[string]any)[path.Base(ref)].(map[string]any)
	}
	headers, _ := listed["headers"].(map[string]any)
	for name := range headers {
		if got.header.Get(name) == "" {
			t.Errorf("%s answers %d without the header %s", pattern, got.status, name)
		}
	}
	if headers["Retry-After"] == nil && got.header.Get("Retry-After") != "" {
		t.Errorf("%s answers %d with Retry-After, which the document does not list", pattern, got.status)
	}
	schema := d.compile(t, at+"/content/"+pointer(got.header.Get("Content-Type"))+"/schema")
	if strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
		of := "Event"
		if strings.Contains(pattern, "/executions/") {
			of = "ExecutionChange"
		}
		d.checkStream(t, of, got.body)
		got.body = jsonString(got.body)
	}
	if got.header.Get("Content-Type") == "application/x-ndjson" {
		d.checkLines(t, got.body)
		got.body = jsonString(got.body)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(got.body))
	if err != nil {
		t.Errorf("%s answers %q: %v", pattern, got.body, err)
		return
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s answers %d with what the document does not allow: %v\n%s", pattern, got.status, err, got.body)
	}
}

func (d document) checkStream(t *testing.T, of, body string) {
	t.Helper()
	schema := d.compile(t, "/components/schemas/"+of)
	for line := range strings.Lines(body) {
		data, is := strings.CutPrefix(line, "data: ")
		if !is {
			continue
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("the stream has an event that the document does not allow: %v\n%s", err, data)
		}
	}
}

func (d document) checkLines(t *testing.T, body string) {
	t.Helper()
	schema := d.compile(t, "/components/schemas/Letter")
	for line := range strings.Lines(body) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("the export has a line that the document does not allow: %v\n%s", err, line)
		}
	}
}

func jsonString(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
