package page

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Sessions finds the viewer of a request. Package session implements it.
type Sessions interface {
	// nil without a session
	Principal(r *http.Request) (*access.Principal, error)
	// Token may set a cookie.
	Token(w http.ResponseWriter, r *http.Request) string
	// Check returns an error unless an act carries the token.
	Check(r *http.Request) error
}

// Options configure a Site.
type Options struct {
	Front    *web.Front
	Sessions Sessions
	// Open: a server without keys and sign-in; everyone may do everything.
	Open    bool
	Version string
	// Static returns the hashed address of a static file.
	Static func(name string) string
	Menu   []Entry
	// Defaults to time.Now.
	Now func() time.Time
}

// Entry is one entry of the navigation.
type Entry struct {
	Title, Path string
	Section     string // of the pages that mark it
	Icon        string // name of a template in parts.html
	Needs       []access.Permission
}

// Site is the set of all pages. Add pages and acts first, then serve; then it is safe for concurrent use.
type Site struct {
	opts  Options
	mux   *http.ServeMux
	log   *slog.Logger
	parts *template.Template // the layout and shared templates
	plain *Family            // pages of the kit: errors, sign-in
	// failure is parsed early: templates cannot be cloned once one was executed.
	failure *template.Template
	looks   looks
	// missing answers requests for missing pages.
	missing http.Handler
	offers  offers
}

//go:embed *.html
var files embed.FS

// New returns a Site without pages. It panics if a template of the kit is wrong; no input causes that.
func New(opts Options) *Site {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Site{opts: opts, mux: http.NewServeMux(), log: opts.Front.Log()}
	s.looks.now = opts.Now
	s.parts = template.Must(template.New("parts").Funcs(functions(s)).ParseFS(files, "*.html"))
	s.plain = s.Family(files)
	s.failure = s.plain.parse("failure.html")
	s.missing = s.viewed(nil, s.notFound)
	return s
}

// Handle adds another handler, such as for static files.
func (s *Site) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", policy)
	if !s.Knows(r) {
		s.missing.ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Family is a family of pages with one set of template files.
type Family struct {
	site *Site
	fs   fs.FS
}

// Family returns a family whose templates are the *.html files of a file system. A page may use the templates of the
// kit and of its own file.
func (s *Site) Family(templates fs.FS) *Family { return &Family{site: s, fs: templates} }

// parse joins the kit's templates, the family's shared_*.html, and the file.
func (f *Family) parse(file string) *template.Template {
	t := template.Must(f.site.parts.Clone())
	patterns := []string{file}
	if shared, err := fs.Glob(f.fs, "shared_*.html"); err == nil {
		patterns = append(shared, file)
	}
	if _, err := t.ParseFS(f.fs, patterns...); err != nil {
		panic(fmt.Sprintf("dashboard: %s: %v", file, err))
	}
	return t
}
