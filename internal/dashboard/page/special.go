package page

import (
	"net/http"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Knows reports whether a request is for the site.
func (s *Site) Knows(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return pattern != ""
}

// Stream adds a long-running handler for signed-in viewers. still reports whether the viewer still is.
func (s *Site) Stream(pattern string, serve func(w http.ResponseWriter, r *http.Request, who *access.Principal,
	still func() bool) error,
) {
	s.mux.Handle(pattern, s.viewed(nil, func(w http.ResponseWriter, r *Request) {
		err := serve(w, r.http, r.Viewer, func() bool {
			if s.opts.Open {
				return true
			}
			viewer, err := s.opts.Sessions.Principal(r.http)
			return err != nil || viewer != nil // a store that does not answer signs nobody out
		})
		if err != nil {
			s.opts.Front.Refuse(w, r.http, pattern, err)
		}
	}))
}

// notFound is behind the sign-in, so that only viewers learn which pages exist.
func (s *Site) notFound(w http.ResponseWriter, r *Request) {
	s.fail(w, r, "", tasker.Errorf(tasker.CodeNotFound, "there is no page at this address"))
}

type signInForm struct {
	Next  string
	Token string
	Error string
}

// SignIn adds the page for signing in with an API key. It works without scripts.
func (s *Site) SignIn(signIn func(w http.ResponseWriter, r *http.Request, secret string) error) {
	form := s.plain.parse("signin.html")
	show := func(w http.ResponseWriter, r *http.Request, status int, next, problem string) {
		req := s.request(r, nil)
		l, err := render(form, View[signInForm]{req, signInForm{next, s.opts.Sessions.Token(w, r), problem}})
		if err != nil {
			s.opts.Front.Refuse(w, r, r.Pattern, err)
			return
		}
		s.show(w, req, status, frame{look: l, bare: true})
	}
	s.mux.HandleFunc("GET /signin", func(w http.ResponseWriter, r *http.Request) {
		show(w, r, http.StatusOK, inside(r.URL.Query().Get("next")), "")
	})
	s.mux.HandleFunc("POST /signin", func(w http.ResponseWriter, r *http.Request) {
		err := s.parseForm(w, r)
		next := inside(r.PostForm.Get("next"))
		if err == nil {
			err = signIn(w, r, strings.TrimSpace(r.PostForm.Get("key")))
		}
		if err != nil {
			p := s.problem(w, s.request(r, nil), err)
			show(w, r, p.Status, next, p.Detail)
			return
		}
		http.Redirect(w, r, next, http.StatusSeeOther)
	})
}

// SignOut adds an act that ends sessions.
func (s *Site) SignOut(path string, signOut func(w http.ResponseWriter, r *http.Request) error) {
	s.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		err := s.parseForm(w, r)
		if err == nil {
			err = signOut(w, r)
		}
		if err != nil {
			s.refuse(w, s.request(r, nil), err)
			return
		}
		http.Redirect(w, r, "/signin", http.StatusSeeOther)
	})
}

// inside returns an address of this server: the given one, or the first page instead of another server's.
func inside(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}
