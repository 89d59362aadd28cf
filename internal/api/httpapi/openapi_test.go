package httpapi_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/api/httpapi"
)

var update = flag.Bool("update", false, "rewrite testdata/openapi.json and docs/reference")

// TestOpenAPIGolden makes every change of the contract visible in review.
func TestOpenAPIGolden(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	httpapi.New(&fake{}, httpapi.Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	file := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.WriteFile(file, w.Body.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(w.Body.String(), "\n")); diff != "" {
		t.Errorf("the contract changed; if it should, run\n"+
			"go test ./internal/api/httpapi -run Golden -update (-want +got):\n%s",
			diff)
	}
}

func TestOpenAPIDocument(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	if got := a.doc.raw["openapi"]; got != "3.1.0" {
		t.Errorf("openapi is %v", got)
	}
	for name := range a.doc.raw["components"].(map[string]any)["schemas"].(map[string]any) {
		a.doc.compile(t, "/components/schemas/"+name) // resolves every reference
	}
	for pattern, id := range a.doc.ids {
		method, path, _ := strings.Cut(pattern, " ")
		op := a.doc.raw["paths"].(map[string]any)[path].(map[string]any)[strings.ToLower(method)].(map[string]any)
		security := op["security"].([]any)
		if open := needs[id] == ""; open != (len(security) == 0) {
			t.Errorf("%s: security is %v", id, security)
		}
		for _, word := range strings.Fields(needs[id]) {
			if !strings.Contains(op["description"].(string), word) {
				t.Errorf("%s: the description %q lacks the permission %s", id, op["description"], word)
			}
		}
		if needsBody := method == "POST" || method == "PATCH"; needsBody != (op["requestBody"] != nil) {
			t.Errorf("%s: body is %v", id, op["requestBody"])
		}
		if names := pathParameters(op); names != strings.Join(regexp.MustCompile(`\{\w+\}`).FindAllString(path, -1), "") {
			t.Errorf("%s: path parameters are %s", id, names)
		}
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	nameless := regexp.MustCompile(`\{\w+\}`)
	for pattern, id := range a.doc.ids {
		method, path, _ := strings.Cut(pattern, " ")
		op := a.doc.raw["paths"].(map[string]any)[path].(map[string]any)[strings.ToLower(method)].(map[string]any)
		body, _ := op["requestBody"].(map[string]any)
		if body == nil {
			continue
		}
		content := body["content"].(map[string]any)["application/json"].(map[string]any)
		example, has := content["example"]
		if schema := content["schema"].(map[string]any); !has && schema["$ref"] != "#/components/schemas/Nothing" {
			t.Errorf("%s has no example", id)
			continue
		}
		text, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		to := nameless.ReplaceAllString(strings.ReplaceAll(path, "{group_id}", "5f2c9a8be0d14c37"),
			"01a1fd5e-c604-7000-9d0a-3b2dfc6b31a5")
		if got := a.do(t, method, to, string(text)); has && got.status == 400 {
			t.Errorf("the example of %s is refused: %s", id, got.body)
		}
	}
}

func pathParameters(op map[string]any) string {
	var out string
	parameters, _ := op["parameters"].([]any)
	for _, p := range parameters {
		if p := p.(map[string]any); p["in"] == "path" {
			out += "{" + p["name"].(string) + "}"
		}
	}
	return out
}

func TestOpenAPIYAML(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	got := a.do(t, "GET", "/openapi.yaml", "")
	var doc struct {
		OpenAPI string
		Paths   map[string]any
	}
	if err := yaml.Unmarshal([]byte(got.body), &doc); err != nil || doc.OpenAPI != "3.1.0" ||
		len(doc.Paths) != len(a.doc.raw["paths"].(map[string]any)) {
		t.Errorf("%v: openapi %q with %d paths", err, doc.OpenAPI, len(doc.Paths))
	}
}
