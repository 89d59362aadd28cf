package manual_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/docs"
	"github.com/taskerhq/tasker/internal/cli/manual"
)

func handler(t *testing.T) http.Handler {
	t.Helper()
	h, err := manual.Handler(docs.Files, "v1")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(t *testing.T, h http.Handler, address string) *httptest.ResponseRecorder {
	t.Helper()
	for range 3 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		if w.Code/100 != 3 {
			return w
		}
		address = w.Header().Get("Location")
	}
	t.Fatalf("%s is redirected again and again", address)
	return nil
}

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	mainPart  = regexp.MustCompile(`(?s)<main.*</main>`)
)

// TestEveryPage: links and pictures of each page lead into the binary, or to a page that names the file in the
// repository.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	h := handler(t)
	pages := 0
	err := fs.WalkDir(docs.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".md") {
			return err
		}
		pages++
		address := "/pages/" + name
		w := get(t, h, address)
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(body, "<h1") || strings.Contains(body, "<script") ||
			strings.Contains(body, " style=") {
			t.Errorf("%s: status %d, no heading, or a script or style in the page", name, w.Code)
		}
		for _, m := range reference.FindAllStringSubmatch(mainPart.FindString(body), -1) {
			follow(t, h, address, m[1])
		}
		return nil
	})
	if err != nil || pages < 100 {
		t.Errorf("found %d pages: %v", pages, err)
	}
}

func follow(t *testing.T, h http.Handler, from, link string) {
	t.Helper()
	base, err := url.Parse(from)
	if err != nil {
		t.Fatal(err)
	}
	to, err := base.Parse(strings.ReplaceAll(link, "&amp;", "&"))
	if err != nil || to.Host != "" || to.Scheme == "mailto" {
		return // package doctest checks the syntax of links to others
	}
	w := get(t, h, to.Path)
	inside := strings.HasPrefix(to.Path, "/pages/")
	if inside != (w.Code == http.StatusOK) {
		t.Errorf("%s links to %s, which is answered with %d", from, link, w.Code)
	}
	if id := ` id="` + to.Fragment + `"`; inside && to.Fragment != "" && !strings.Contains(w.Body.String(), id) {
		t.Errorf("%s links to %s, and no heading has that fragment", from, link)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	h := handler(t)
	for query, want := range map[string]string{
		"checkpoint":             "/pages/guides/long-work.md",
		"backoff_base_ms":        "/pages/reference/template.md#retry",
		"tasker task submit":     "/pages/reference/cli.md#tasker-task-submit",
		"no such words anywhere": "No page has all of these words",
		"<script>alert(1)":       "&lt;script&gt;alert(1)",
		strings.Repeat("ü", 300): "No page has all of these words",
		"":                       "No page has all of these words",
	} {
		w := get(t, h, "/search?q="+url.QueryEscape(query))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("the search for %q: status %d, without %s", query, w.Code, want)
		}
	}
}

func TestOffline(t *testing.T) {
	t.Parallel()
	h := handler(t)
	if policy := get(t, h, "/").Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; "+
		"style-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy of pages is %q", policy)
	}
	for address, want := range map[string]string{
		"/docs": "swagger-ui-bundle.js", "/docs/swagger-ui.css": "swagger", "/openapi.json": `"paths"`,
		"/style.css": "prefers-color-scheme: dark",
	} {
		if w := get(t, h, address); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is answered with %d, without %s", address, w.Code, want)
		}
	}
	for _, address := range []string{"/v1/tasks", "/pages/none.md", "/pages/../go.mod", "/pages/img/", "/metrics"} {
		if w := get(t, h, address); w.Code != http.StatusNotFound {
			t.Errorf("%s is answered with %d", address, w.Code)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/search", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST is answered with %d", w.Code)
	}
}
