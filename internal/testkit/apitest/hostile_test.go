package apitest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
)

// TestHostileValues sends hostile values for every parameter, header and property of every operation of the OpenAPI
// document. The server refuses or accepts them: no answer is a server error, and accepted ones break no list.
func TestHostileValues(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	secret, err := webhook.ParseSecret("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		testHostileValues(t, serve(t, dsn, node.Options{Blobs: directory(t, t.TempDir()),
			Engine: settings.Config{OutageBreaker: downAfter},
			Webhooks: []webhook.Endpoint{
				{Name: "t", URL: receiver.URL, Secrets: []webhook.Secret{secret}}}}))
	})
}

func testHostileValues(t *testing.T, s *server) {
	h := &attacker{server: s, t: t}
	var doc document
	h.get("/openapi.json", &doc)
	h.doc = doc
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, op := range doc.Paths[path] {
			h.path, h.about = path, baseOf[method+" "+path].about
			h.prepare()
			h.plain(method, path)
			h.parameters(method, path, op)
			h.properties(method, path, op)
		}
	}
	if h.sent < 3000 || h.taken < h.sent/20 {
		t.Errorf("%d requests were sent and %d taken: too few to show anything", h.sent, h.taken)
	}
	for _, list := range []string{"/v1/tasks?limit=1000&include=context", "/api/v1/tasks?limit=1000", "/v1/dlq?limit=1000",
		"/api/v1/dlq", "/v1/dlq/investigation-queue",
		"/v1/dlq/staleness", "/v1/dlq/stats", "/v1/audit?limit=1000", "/v1/templates?limit=1000", "/internal/workers",
		"/v1/routes?limit=1000", "/v1/pauses", "/v1/approvals", "/v1/signals",
		"/v1/limits", "/v1/schedules", "/v1/outages"} {
		h.get(list, nil)
	}
}

type document struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	Parameters []struct {
		Name, In string
		Schema   schema
	}
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Enum       []any
	Properties map[string]schema
	Items      *schema
	OneOf      []schema
}

type attacker struct {
	*server
	t     *testing.T
	doc   document
	sent  int
	taken int            // and answered 2xx
	path  string         // of the operation
	about string         // the task of the requests: see base
	takes string         // URL of a program that takes letters; "" until needed
	topic string         // with a record; "" until needed
	known map[string]any // by the name of the property or parameter
}

var hostileTexts = []string{"%00", "a%00b", "%ff", "a%0Ab", "%1b%5B2J", "%C2%85", strings.Repeat("x", 300), "-1", "0",
	"2147483648", "99999999999999999999", "1e400", "NaN",
	"1.0", "0000-01-01T00:00:00%2B23:59", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "%27%20OR%201%3D1",
	"%F0%9F%92%A9", "00000000-0000-0000-0000-000000000000", ""}

func (h *attacker) parameters(method, path string, op operation) {
	body := h.fill(baseOf[method+" "+path].body)
	for _, p := range op.Parameters {
		for _, value := range h.thinned(hostileTexts) {
			switch p.In {
			case "path":
				if value != "" {
					h.send(method, h.fill(strings.Replace(path, "{"+p.Name+"}", value, 1)), body, nil)
				}
			case "query":
				h.send(method, h.fill(path)+"?"+p.Name+"="+value, body, nil)
			case "header":
				if text, err := url.PathUnescape(value); err == nil && !strings.ContainsAny(text, "\x00\n\x1b") {
					h.send(method, h.fill(path), body, http.Header{p.Name: {text}})
				}
			}
		}
	}
	if body == "" {
		h.send(method, h.fill(path)+"?%00=%00", body, nil)
	}
}

// thinned is every third value with -short, and on SQLite, whose types refuse nothing that those of PostgreSQL take.
func (h *attacker) thinned(values []string) []string {
	if !testing.Short() && !strings.HasSuffix(h.t.Name(), "/SQLite") {
		return values
	}
	var some []string
	for i := 0; i < len(values); i += 3 {
		some = append(some, values[i])
	}
	return some
}

func (h *attacker) fill(path string) string {
	for name, value := range h.known {
		path = strings.ReplaceAll(path, "{"+name+"}", fmt.Sprint(value))
	}
	return strings.NewReplacer("{namespace}", "default", "{name}", "t", "{version}", "1").Replace(path)
}

var hostileValues = []string{`null`, `true`, `""`, `"\u0000"`, `"a\u0000b"`, `"a\nb"`, `"\u001b[2J"`, `"\u0085"`,
	`"\ud800"`, "\"\xff\"", `"` + strings.Repeat("x", 5000) + `"`,
	`-1`, `0`, `59.0`, `0.5`, `1e400`, `9223372036854775808`, `-9223372036854775808`, `[]`, `[null]`, `["\u0000"]`, `{}`,
	`{"\u0000":"\u0000"}`, `{"a":"\u0000"}`,
	`"0000-01-01T00:00:00+23:59"`, `"9999-12-31T23:59:59-23:59"`, `"1970-01-01T00:00:00Z"`,
	`"00000000-0000-0000-0000-000000000000"`,
	strings.Repeat("[", 300) + strings.Repeat("]", 300), strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)}

func (h *attacker) properties(method, path string, op operation) {
	content, has := op.RequestBody.Content["application/json"]
	if !has {
		return
	}
	for _, value := range hostileValues {
		h.send(method, h.fill(path), value, nil)
	}
	h.members(method, path, content.Schema)
	whole := h.sample(content.Schema, "", 0)
	h.eachPlace(whole, func(set func(any)) {
		for _, value := range h.thinned(hostileValues) {
			h.prepareSometimes()
			set(json.RawMessage(value))
			h.send(method, h.fill(path), encode(whole), nil)
		}
	})
}

// prepareSometimes replaces the objects, which some requests end.
func (h *attacker) prepareSometimes() {
	if h.sent%200 == 0 {
		h.prepare()
	}
}

func encode(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, fmt.Sprintf("%q:%s", name, encode(v[name])))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, encode(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case json.RawMessage:
		return string(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // samples are texts, numbers and booleans
	}
	return string(b)
}

// eachPlace calls attack with a setter for every member and item of a document, and restores it.
func (h *attacker) eachPlace(v any, attack func(set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			was := v[name]
			attack(func(value any) { v[name] = value })
			v[name] = was
			h.eachPlace(was, attack)
		}
	case []any:
		for i, was := range v {
			attack(func(value any) { v[i] = value })
			v[i] = was
			h.eachPlace(was, attack)
		}
	}
}

// sample makes a value of a schema; for known names, a real one.
func (h *attacker) sample(s schema, name string, depth int) any {
	if s.Ref != "" {
		s = h.doc.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if known, ok := h.known[name]; ok {
		return known
	}
	if len(s.OneOf) > 0 {
		return h.sample(s.OneOf[0], name, depth)
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == "object":
		out := map[string]any{}
		for property, inner := range s.Properties {
			if depth < 4 {
				out[property] = h.sample(inner, property, depth+1)
			}
		}
		return out
	case s.Type == "array" && s.Items != nil:
		return []any{h.sample(*s.Items, strings.TrimSuffix(name, "s"), depth+1)}
	case s.Type == "integer", s.Type == "number":
		return 1
	case s.Type == "boolean":
		return false
	case s.Format == "uuid":
		return h.known["task_uuid"]
	case s.Format == "date-time":
		return "2026-01-31T15:04:05Z"
	case name == "yaml" || name == "template_yaml":
		return "name: t\nversion: \"1\"\nsteps: [{name: a, handler: h}]\n"
	case s.Type == "string":
		return "x"
	}
	return map[string]any{"a": 1}
}

// send reports an answer that is a server error.
func (h *attacker) send(method, target, body string, header http.Header) {
	h.t.Helper()
	h.sent++
	// A silent long poll or stream counts as an answer.
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	if strings.Contains(target, "/events") || strings.HasSuffix(target, "/poll") || strings.Contains(target, "wait") {
		cancel()
		ctx, cancel = context.WithTimeout(h.t.Context(), 100*time.Millisecond)
	}
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, strings.ToUpper(method), h.url+target, bytes.NewReader([]byte(body)))
	if err != nil {
		return // a target that no client can send
	}
	r.Header = header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := h.http.Do(r)
	if errors.Is(err, context.DeadlineExceeded) && h.t.Context().Err() == nil {
		return
	}
	if err != nil {
		h.t.Errorf("%s %.200s with %.200s: %v", method, target, body, err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode < 300 {
		h.taken++
	}
	if resp.StatusCode >= 500 {
		answer, _ := io.ReadAll(resp.Body)
		h.t.Errorf("%s %.300s with %.600q is answered %d %.300s", method, target, body, resp.StatusCode, answer)
	}
}

func (h *attacker) get(target string, out any) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.url+target, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	resp, err := h.http.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !json.Valid(body) {
		h.t.Fatalf("%s is answered %d, %v: %.300s", target, resp.StatusCode, err, body)
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			h.t.Fatal(err)
		}
	}
}
