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

// Sessions knows who is signed in. Package session implements it.
type Sessions interface {
	// Principal returns whose session a request has, or nil.
	Principal(r *http.Request) (*access.Principal, error)
	// Token returns the token that acts of the viewer must carry. It may set a cookie.
	Token(w http.ResponseWriter, r *http.Request) string
	// Check returns an error unless an act carries the token.
	Check(r *http.Request) error
}

// Options configure a Site.
type Options struct {
	Front    *web.Front
	Sessions Sessions
	// Open is a server without keys: nobody signs in, and everybody may do everything.
	Open    bool
	Version string
	// Static returns the address of a static file, with its hash.
	Static func(name string) string
	// Menu is the navigation, in order.
	Menu []Entry
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Entry is one entry of the navigation.
type Entry struct {
	Title, Path string
	Section     string // of the pages for which it is marked
	Icon        string // name of a template in parts.html
	Needs       []access.Permission
}

// Site is the set of all pages. Add pages and acts first, then serve; it is safe for concurrent use from then on.
type Site struct {
	opts  Options
	mux   *http.ServeMux
	log   *slog.Logger
	parts *template.Template // the layout and what pages share
	plain *Family            // pages of the kit: errors, sign-in
	// failure is parsed with the others: templates cannot be cloned once one was executed.
	failure *template.Template
	looks   looks
	// missing answers requests for pages that do not exist.
	missing http.Handler
	offers  offers
}

//go:embed *.html
var files embed.FS

// New returns a Site without pages. It panics if a template of the kit is wrong, which no input can cause.
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

// Handle adds a handler of its own, such as static files.
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

// policy allows a page its own scripts, styles and requests, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Family is a family of pages with one set of template files.
type Family struct {
	site *Site
	fs   fs.FS
}

// Family returns a family whose templates are the *.html files of a file system. A page may use every template of the
// kit, and of its own file.
func (s *Site) Family(templates fs.FS) *Family { return &Family{site: s, fs: templates} }

// parse returns the templates of one page: the kit's, those in files shared_*.html of its family, and the file's.
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
