package page

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Page describes a page whose template shows a T.
type Page[T any] struct {
	// Path is a pattern without a method: /inbox/{group_id}.
	Path string
	// File is the template. It defines "title" and "main"; both get a View[T].
	File string
	// Section names the marked entry of the navigation.
	Section string
	// Needs are permissions of which one suffices. None: every viewer.
	Needs []access.Permission
	// Topics are reported changes after which the browser requests the page again. None: it is not live.
	Topics []string
	Load   func(r *Request) (T, error)
}

// View is the argument of templates.
type View[T any] struct {
	*Request
	Data T
}

// Add adds a page. It panics if its template is wrong.
func Add[T any](f *Family, p Page[T]) {
	s := f.site
	t := f.parse(p.File)
	look := func(ctx context.Context, r *Request) (*look, error) {
		r = r.under(ctx)
		data, err := p.Load(r)
		if err != nil {
			return nil, err
		}
		return render(t, View[T]{r, data})
	}
	s.mux.Handle("GET "+p.Path, s.viewed(p.Needs, func(w http.ResponseWriter, r *Request) {
		get := s.looks.get
		if r.Showing() {
			get = unshared
		}
		l, err := get(r, look)
		if err != nil {
			s.fail(w, r, p.Section, err)
			return
		}
		s.show(w, r, http.StatusOK, frame{Section: p.Section, Topics: p.Topics, look: l})
	}))
}

// unshared makes a look for one viewer: sensitive values are in no shared memory.
func unshared(r *Request, load func(context.Context, *Request) (*look, error)) (*look, error) {
	ctx, cancel := context.WithTimeout(r.Context(), lookTimeout)
	defer cancel()
	return load(ctx, r)
}

// under returns the request with the context of a shared look.
func (r *Request) under(ctx context.Context) *Request {
	out := *r
	out.http = r.http.WithContext(ctx)
	return &out
}

// Fragment adds a part of a page that changes alone, such as the preview of a form. Its template gets a View[T]. It is
// never shared. With POST it reads a form, which must carry the token like an act.
func Fragment[T any](f *Family, pattern, file, block string, needs []access.Permission,
	load func(r *Request) (T, error),
) {
	t := f.parse(file)
	f.site.mux.Handle(pattern, f.site.viewed(needs, func(w http.ResponseWriter, r *Request) {
		data, err := func() (none T, err error) {
			if r.http.Method == http.MethodPost {
				if err := f.site.parseForm(w, r.http); err != nil {
					return none, err
				}
			}
			return load(r)
		}()
		var out bytes.Buffer
		if err == nil {
			err = t.ExecuteTemplate(&out, block, View[T]{r, data})
		}
		if err != nil {
			f.site.refuse(w, r, err)
			return
		}
		send(w, r.http, http.StatusOK, "text/html; charset=utf-8", out.Bytes())
	}))
}

// Download adds a file. serve sends it, or returns an error before it has sent anything.
func (f *Family) Download(path string, needs []access.Permission, serve func(w http.ResponseWriter, r *Request) error) {
	f.site.mux.Handle("GET "+path, f.site.viewed(needs, func(w http.ResponseWriter, r *Request) {
		if err := serve(w, r); err != nil {
			f.site.fail(w, r, "", err)
		}
	}))
}

// Done is the result of an act: the next page, and its notice.
type Done struct {
	To  string // address of a page
	Say string // the completed act, in one sentence
	// Offer is the act that undoes it, nil for none.
	Offer *Offer
}

// Act adds an act: a form sent to a path. do calls the API, which decides whether the viewer may do it; needs only
// spares the call. The viewer's page shows an error and keeps its input.
func (f *Family) Act(path string, needs []access.Permission, do func(r *Request) (Done, error)) {
	s := f.site
	s.mux.Handle("POST "+path, s.viewed(needs, func(w http.ResponseWriter, r *Request) {
		done, err := func() (Done, error) {
			if err := s.parseForm(w, r.http); err != nil {
				return Done{}, err
			}
			return do(r)
		}()
		s.looks.forget() // also after an error: a part may have been done
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		if done.Say != "" {
			http.SetCookie(w, &http.Cookie{Name: sayCookie, Value: url.QueryEscape(cut(done.Say, 1000)), Path: "/", MaxAge: 30,
				SameSite: http.SameSiteStrictMode, HttpOnly: true})
		}
		if done.Offer != nil {
			s.offers.put(w, done.Offer, r.Now)
		}
		http.Redirect(w, r.http, done.To, http.StatusSeeOther)
	}))
}

// sayCookie carries the notice to the next page.
const sayCookie = "tasker_say"

// formBytes bounds the form of an act. Edited payloads are the largest content.
const formBytes = 4 << 20

func (s *Site) parseForm(w http.ResponseWriter, r *http.Request) error {
	var body bytes.Buffer
	if err := s.opts.Front.ReadBody(&body, w, r, formBytes); err != nil {
		return err
	}
	r.Body = io.NopCloser(&body)
	if err := r.ParseForm(); err != nil {
		return &tasker.Error{Code: tasker.CodeInvalid, Message: "the form could not be read", Err: err}
	}
	return s.opts.Sessions.Check(r)
}

// viewed admits viewers who are signed in and have one of the permissions.
func (s *Site) viewed(needs []access.Permission, next func(w http.ResponseWriter, r *Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.opts.Open {
			next(w, s.request(r, nil))
			return
		}
		viewer, err := s.opts.Sessions.Principal(r)
		switch {
		case err != nil:
			s.fail(w, s.request(r, nil), "", err)
			return
		case viewer == nil:
			s.askToSignIn(w, r)
			return
		}
		req := s.request(r.WithContext(access.With(r.Context(), viewer)), viewer)
		if len(needs) > 0 && !viewer.Can(needs...) {
			s.fail(w, req, "", tasker.Errorf(tasker.CodeForbidden, "the key %s lacks the permission %s", viewer.Name, needs[0]))
			return
		}
		next(w, req)
	})
}

// askToSignIn redirects to the sign-in page, and back from there. A script gets a status, so that it does not merge
// that page into another.
func (s *Site) askToSignIn(w http.ResponseWriter, r *http.Request) {
	to := "/signin"
	if r.Method == http.MethodGet && r.URL.RequestURI() != "/" {
		to += "?next=" + url.QueryEscape(r.URL.RequestURI())
	}
	if scripted(r) {
		w.Header().Set("HX-Redirect", to)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func scripted(r *http.Request) bool {
	return r.Header.Get("HX-Request") != "" || r.Header.Get("X-Live") != ""
}

func render(t *template.Template, view any) (*look, error) {
	var title, main bytes.Buffer
	if err := t.ExecuteTemplate(&title, "title", view); err != nil {
		return nil, fmt.Errorf("render title: %w", err)
	}
	if err := t.ExecuteTemplate(&main, "main", view); err != nil {
		return nil, fmt.Errorf("render page: %w", err)
	}
	return &look{title: template.HTML(title.String()), main: main.Bytes(), at: time.Now()}, nil
}
