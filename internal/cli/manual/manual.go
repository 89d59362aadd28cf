package manual

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/taskerhq/tasker/internal/api/httpapi"
)

// policy allows style sheet, pictures and search, nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

//go:embed layout.html style.css
var own embed.FS

// Handler serves the pages of a file system, with an index README.md, and the API document of this version.
func Handler(files fs.FS, version string) (http.Handler, error) {
	layout, err := template.ParseFS(own, "layout.html")
	if err != nil {
		return nil, fmt.Errorf("parse the layout: %w", err)
	}
	m := &manual{files: files, layout: layout, version: version, markdown: newMarkdown()}
	if m.groups, err = m.index(); err != nil {
		return nil, err
	}
	if m.sections, err = m.split(); err != nil {
		return nil, err
	}
	// The API has no backend: only its description is routed.
	api := httpapi.New(nil, httpapi.Options{Version: version})
	mux := http.NewServeMux()
	for _, pattern := range []string{"GET /docs", "GET /docs/", "GET /openapi.json", "GET /openapi.yaml"} {
		mux.Handle(pattern, api)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/pages/README.md", http.StatusFound)
	})
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, own, "style.css")
	})
	mux.HandleFunc("GET /search", m.search)
	mux.HandleFunc("GET /pages/{name...}", m.page)
	mux.HandleFunc("GET /", m.missing)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		mux.ServeHTTP(w, r)
	}), nil
}

type manual struct {
	files    fs.FS
	layout   *template.Template
	version  string
	markdown markdown
	groups   []group
	sections []section
}

type view struct {
	Title, Path, Query, Version string
	Groups                      []group
	Body                        template.HTML
	Contents                    []section
	Found                       []hit
	Missing                     string
}

func (m *manual) page(w http.ResponseWriter, r *http.Request) {
	name := path.Clean(r.PathValue("name"))
	info, err := fs.Stat(m.files, name)
	switch {
	case err != nil:
		m.missing(w, r)
	case info.IsDir() && !strings.HasSuffix(r.URL.Path, "/"):
		http.Redirect(w, r, "/pages/"+name+"/", http.StatusFound) //nolint:gosec // a folder of ours
	case info.IsDir():
		m.folder(w, r, name)
	case path.Ext(name) != ".md":
		http.ServeFileFS(w, r, m.files, name)
	default:
		source, err := fs.ReadFile(m.files, name)
		if err != nil {
			m.missing(w, r)
			return
		}
		var b bytes.Buffer
		if err := m.markdown.convert(source, &b); err != nil {
			http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
			return
		}
		v := view{Title: title(string(source)), Path: name, Body: template.HTML(b.String())} //nolint:gosec // our own pages
		for _, s := range m.sections {
			if s.Path == name && s.Level == 2 {
				v.Contents = append(v.Contents, s)
			}
		}
		m.show(w, http.StatusOK, v)
	}
}

func (m *manual) folder(w http.ResponseWriter, r *http.Request, name string) {
	v := view{Title: "Pages in " + name, Path: name}
	for _, s := range m.sections {
		if path.Dir(s.Path) == name && s.Level == 1 {
			v.Found = append(v.Found, hit{section: s, Snippet: s.first()})
		}
	}
	if len(v.Found) == 0 {
		m.missing(w, r)
		return
	}
	m.show(w, http.StatusOK, v)
}

// missing answers for other files of the repository.
func (m *manual) missing(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/pages"), "/")
	m.show(w, http.StatusNotFound, view{Title: "Not in these pages", Missing: name})
}

func (m *manual) show(w http.ResponseWriter, status int, v view) {
	v.Groups, v.Version = m.groups, m.version
	var b bytes.Buffer
	if err := m.layout.Execute(&b, v); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the client may have left
}
