package web_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
)

func page() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/page/{name}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		if string(body) == "panic" {
			panic("bug in /secret")
		}
		name := ""
		if p := access.From(r.Context()); p != nil {
			name = p.Name
		}
		_, _ = io.WriteString(w, name+":"+string(body))
	})
	return mux
}

func ask(h http.Handler, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/page/x", strings.NewReader(body))
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	secrets, keys := map[string]string{}, []access.Key{}
	for _, k := range []access.Key{{Name: "reader", Permissions: []string{"read"}},
		{Name: "worker", Permissions: []string{"work"}},
		{Name: "some", Permissions: []string{"read"}, Namespaces: []string{"billing"}}} {
		secret, hash := access.Generate()
		k.SHA256, secrets[k.Name] = hash, "X-API-Key: "+secret
		keys = append(keys, k)
	}
	ring, err := access.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	read := []access.Permission{access.Read}
	for _, tt := range []struct {
		name    string
		policy  web.Policy
		body    string
		headers []string
		status  int // with the policy; without one it is always 200
		answer  string
	}{
		{"Admitted", web.Policy{Needs: read}, "a", []string{secrets["reader"]}, 200, "reader:a"},
		{"NoKey", web.Policy{Needs: read}, "", nil, 401, `"code":"unauthenticated"`},
		{"WrongPermission", web.Policy{Needs: read}, "", []string{secrets["worker"]}, 403, "the request needs read"},
		{"SomeNamespaces", web.Policy{Needs: read}, "", []string{secrets["some"]}, 200, "some:"},
		{"AllNamespaces", web.Policy{Needs: read, AllNamespaces: "pages"}, "", []string{secrets["some"]}, 403,
			"pages are about all of them"},
		{"OtherOrigin", web.Policy{SameOrigin: true}, "", []string{"Sec-Fetch-Site: cross-site"}, 403, `"code":"forbidden"`},
		{"OwnOrigin", web.Policy{SameOrigin: true}, "", []string{"Sec-Fetch-Site: same-origin"}, 200, ":"},
		{"ForeignHost", web.Policy{LoopbackOnly: true}, "", []string{"Host: evil.example"}, 403, "loopback"},
		{"Loopback", web.Policy{LoopbackOnly: true}, "", nil, 200, ":"},
		{"LargeBody", web.Policy{BodyBytes: 3}, "abcd", nil, 413, "larger than 3 bytes"},
		{"BodyOfTheLimit", web.Policy{BodyBytes: 3}, "abc", nil, 200, ":abc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			front := web.New(web.Options{Keys: ring})
			if w := ask(front.Mount(tt.policy, page()), tt.body, tt.headers...); w.Code != tt.status ||
				!strings.Contains(w.Body.String(), tt.answer) {
				t.Errorf("answers %d %s, want %d with %q", w.Code, w.Body, tt.status, tt.answer)
			}
			if w := ask(front.Mount(web.Policy{}, page()), tt.body, tt.headers...); w.Code != 200 ||
				w.Body.String() != ":"+tt.body {
				t.Errorf("without a policy it answers %d %s", w.Code, w.Body)
			}
		})
	}
}

func TestLimitedBodyOfUnknownLength(t *testing.T) {
	t.Parallel()
	h := web.New(web.Options{}).Mount(web.Policy{BodyBytes: 3}, page())
	for body, want := range map[string]int{"abc": 200, "abcd": http.StatusTeapot} {
		r := httptest.NewRequest(http.MethodPost, "/page/x", io.MultiReader(strings.NewReader(body)))
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q is answered %d, want %d", body, w.Code, want)
		}
	}
}

// TestObserved: an observed handler logs route and key, and its panic is a 500 without details. Quiet routes are logged
// at debug.
func TestObserved(t *testing.T) {
	t.Parallel()
	secret, hash := access.Generate()
	ring, err := access.New([]access.Key{{Name: "reader", SHA256: hash, Permissions: []string{"read"}}})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	var patterns []string
	front := web.New(web.Options{Keys: ring, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	h := front.Mount(web.Policy{Observe: true, Needs: []access.Permission{access.Read}, BodyBytes: 9,
		Quiet: func(pattern string) bool {
			patterns = append(patterns, pattern)
			return len(patterns) == 3
		}}, page())
	w := ask(h, "a", "X-API-Key: "+secret, "X-Request-Id: mine")
	if w.Header().Get("X-Request-Id") != "mine" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the answer has the headers %v", w.Header())
	}
	if !strings.Contains(log.String(), "path=/page/x status=200") || !strings.Contains(log.String(), "request_id=mine") ||
		!strings.Contains(log.String(), "key=reader") {
		t.Errorf("the log is %s", log.String())
	}
	if w = ask(h, "panic", "X-API-Key: "+secret); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("a panic is answered %d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "bug in /secret") {
		t.Errorf("the log does not tell of the panic: %s", log.String())
	}
	log.Reset()
	if ask(h, "b", "X-API-Key: "+secret); log.Len() > 0 {
		t.Errorf("a quiet request is logged: %s", log.String())
	}
	for _, pattern := range patterns {
		if pattern != "/page/{name}" {
			t.Errorf("the route of a request is %q", pattern)
		}
	}
}
