package httpapi_test

import (
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

	"github.com/taskerhq/tasker/internal/httpapi"
)

var update = flag.Bool("update", false, "rewrite testdata/openapi.json")

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
		t.Errorf("the contract changed; if it should, run go test ./internal/httpapi -run Golden -update (-want +got):\n%s",
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

// TestDocsPage checks that the page asks nobody else for anything.
func TestDocsPage(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	for path, contentType := range map[string]string{"/docs": "text/html", "/docs/docs.js": "text/javascript",
		"/docs/style.css": "text/css"} {
		got := a.do(t, "GET", path, "")
		if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), contentType) {
			t.Errorf("%s is answered %d %s", path, got.status, got.header.Get("Content-Type"))
		}
		policy := got.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'") ||
			strings.Contains(policy, "http") {
			t.Errorf("%s has the policy %q", path, policy)
		}
		if strings.Contains(got.body, "//") && regexp.MustCompile(`["'(=]\s*(https?:)?//`).MatchString(got.body) {
			t.Errorf("%s loads from elsewhere", path)
		}
		for _, reference := range regexp.MustCompile(`(?:href|src)="(/[^"]*)"`).FindAllStringSubmatch(got.body, -1) {
			if got := a.do(t, "GET", reference[1], ""); got.status != 200 {
				t.Errorf("%s refers to %s, which is answered %d", path, reference[1], got.status)
			}
		}
	}
	if got := a.do(t, "GET", "/docs/docs.js", ""); strings.Contains(got.body, "innerHTML") ||
		strings.Contains(got.body, "eval(") {
		t.Error("the page turns text into markup or code")
	}
}
