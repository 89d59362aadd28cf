package httpapi

import (
	"embed"
	"net/http"
	"strconv"
)

// docsFiles is Swagger UI. It loads nothing from elsewhere, so it works without a network.
//
//go:embed docs
var docsFiles embed.FS

// examples are bodies of requests by operation ID.
//
//go:embed examples.json
var examples []byte

// docsPolicy allows the page its own files and requests to this server. Swagger UI has its pictures in the style sheet
// and sets styles of elements.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serveDocument serves the OpenAPI document and its page without a key: they contain nothing beyond the public source.
func (s *server) serveDocument() {
	asJSON, asYAML := s.api.Document(examples)
	s.serveBytes("/openapi.json", "application/openapi+json", asJSON)
	s.serveBytes("/openapi.yaml", "application/openapi+yaml", asYAML)
	// A list and not a file server: no other file of the directory is reachable.
	for path, file := range map[string][2]string{
		"/docs":                      {"docs/index.html", "text/html; charset=utf-8"},
		"/docs/page.js":              {"docs/page.js", "text/javascript; charset=utf-8"},
		"/docs/page.css":             {"docs/page.css", "text/css; charset=utf-8"},
		"/docs/swagger-ui-bundle.js": {"docs/swagger-ui/swagger-ui-bundle.js", "text/javascript; charset=utf-8"},
		"/docs/swagger-ui.css":       {"docs/swagger-ui/swagger-ui.css", "text/css; charset=utf-8"},
	} {
		content, err := docsFiles.ReadFile(file[0])
		if err != nil {
			panic("httpapi: " + err.Error()) // the name above is wrong
		}
		s.serveBytes(path, file[1], func() ([]byte, error) { return content, nil })
	}
}

// serveBytes makes browsers revalidate (no-cache): the address of the document is the same in every version.
func (s *server) serveBytes(path, contentType string, file func() ([]byte, error)) {
	s.api.Handle("GET "+path, false, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		content, err := file()
		if err != nil {
			panic("httpapi: " + err.Error()) // the types cannot be described, or examples.json is no JSON
		}
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Set("Content-Length", strconv.Itoa(len(content)))
		header.Set("Content-Security-Policy", docsPolicy)
		header.Set("Cache-Control", "no-cache")
		_, _ = w.Write(content) // the client may have left
	}))
}
