package static_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/dashboard/static"
)

// TestVendored: third-party scripts are unchanged: htmx.org 2.0.11, idiomorph 0.8.0.
func TestVendored(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"htmx.min.js":      "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
		"idiomorph.min.js": "4cbd535caf7663a51eda9bce6595371c384fc430d54b8d414e29a61167f19f96",
	} {
		content, err := os.ReadFile("vendor/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has changed: %x", name, sum)
		}
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	files := static.New()
	mux := http.NewServeMux()
	mux.Handle("GET /static/{hash}/{name...}", files)
	get := func(path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	first := 0
	for _, name := range []string{"style.css", "chart.css", "app.js", "icon.svg", "vendor/htmx.min.js",
		"vendor/idiomorph.min.js"} {
		w := get(files.Address(name), "Accept-Encoding", "gzip")
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") ||
			w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s = %d %v", name, w.Code, w.Header())
		}
		first += w.Body.Len()
	}
	if first > 100<<10 { // with a page of up to 50 KB: 150 KB
		t.Errorf("the first page loads %d bytes of files", first)
	}
	if w := get("/static/000000000000/style.css"); w.Code != http.StatusOK ||
		w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("an old address = %d %v", w.Code, w.Header())
	}
	for _, path := range []string{"/static/x/vendor/htmx.LICENSE", "/static/x/static.go", "/static/x/../static.go"} {
		if w := get(path); w.Code == http.StatusOK {
			t.Errorf("%s is served", path)
		}
	}
}
