package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/taskerhq/tasker/internal/api/httpapi"
)

// FuzzBody compares the checker with an independent implementation of JSON Schema: the document's schema allows every
// accepted body, and no body causes a panic.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"name":"x","context":{"a":[1,2,{"b":null}]},"priority":7,"tags":["a"],"run_at":"2026-01-31T12:00:00Z"}`,
		`{"n\u0061me":"\ud83d\ude00","priority":"high","max_retries":3}`,
		`{"name":"x","name":"y"}`, `{"Name":"x"}`, `{"tags":[1]}`, `[]`, `{`, `null`, ` {} `, `{"max_retries":1e2}`,
		`{"max_retries":3.0}`,
		`{"tags":null,"context":"]}\""}`, "{\"name\":\"\xff\"}", `{"name":"` + strings.Repeat("ü", 255) + `"}`,
		`{"timeout_seconds":-0,"a":{"b":[[[]]]}}`, `{"priority":100.0}`, `{"run_at":"2026-01-31T24:00:00Z"}`,
	} {
		f.Add([]byte(seed))
	}
	h := httpapi.New(&fake{}, httpapi.Options{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	parsed, err := jsonschema.UnmarshalJSON(w.Body)
	if err != nil {
		f.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(documentURL, parsed); err != nil {
		f.Fatal(err)
	}
	schema, err := compiler.Compile(documentURL + "#/components/schemas/TaskRequest")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/v1/tasks", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch {
		case w.Code != 201 && w.Code != 200 && w.Code != 400:
			t.Fatalf("%q is answered %d %s", body, w.Code, w.Body)
		case w.Code == 400 && !json.Valid(w.Body.Bytes()):
			t.Fatalf("%q is answered with a broken problem: %s", body, w.Body)
		case w.Code == 400:
			return // stricter than the schema: repeated names, times before 1970
		case !utf8.Valid(body):
			t.Fatalf("%q is not UTF-8 and was accepted", body)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err != nil {
			t.Fatalf("%q is not JSON and was accepted", body)
		}
		if err := schema.Validate(dropNulls(value)); err != nil {
			t.Fatalf("%q was accepted against the schema: %v", body, err)
		}
	})
}

func dropNulls(value any) any {
	if object, is := value.(map[string]any); is {
		for name, property := range object {
			if property == nil && name != "context" {
				delete(object, name)
			}
		}
	}
	return value
}
