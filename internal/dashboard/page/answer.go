package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/api/web"
)

type frame struct {
	Section string
	Topics  []string
	look    *look
	bare    bool // without the navigation: there is no session

	// Set by show.
	Title   template.HTML
	Main    template.HTML
	ETag    string
	Request *Request
	Menu    []Entry
	Token   string
	Say     string
	Offer   *Offer
	Theme   string
	ZoneSet string
	Open    bool
	Version string
}

// show sends a page: whole, or only its main part to a script that merges it, or nothing if the script has it.
func (s *Site) show(w http.ResponseWriter, r *Request, status int, f frame) {
	sum := sha256.Sum256(f.look.main)
	f.ETag = hex.EncodeToString(sum[:8])
	if r.http.Header.Get("X-Live") != "" {
		w.Header().Set("X-ETag", f.ETag)
		if r.http.Header.Get("X-Live") == f.ETag {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		send(w, r.http, status, "text/html; charset=utf-8", f.look.main)
		return
	}
	f.Title, f.Main, f.Request = f.look.title, template.HTML(f.look.main), r
	f.Open, f.Version = s.opts.Open, s.opts.Version
	f.Token = s.opts.Sessions.Token(w, r.http)
	f.Theme, f.ZoneSet = preference(r.http, themeCookie), preference(r.http, zoneCookie)
	if f.Say = preference(r.http, sayCookie); f.Say != "" {
		http.SetCookie(w, &http.Cookie{Name: sayCookie, Path: "/", MaxAge: -1, SameSite: http.SameSiteStrictMode,
			HttpOnly: true})
		f.Offer = s.offers.take(w, r.http, r.Now)
	}
	for _, e := range s.opts.Menu {
		if f.bare {
			break
		}
		if len(e.Needs) == 0 || r.Can(e.Needs...) {
			f.Menu = append(f.Menu, e)
		}
	}
	var out bytes.Buffer
	if err := s.parts.ExecuteTemplate(&out, "layout", f); err != nil {
		s.opts.Front.Refuse(w, r.http, r.http.Pattern, err)
		return
	}
	send(w, r.http, status, "text/html; charset=utf-8", out.Bytes())
}

// send compresses the response if that is worth it and the client can read it.
func send(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Add("Vary", "Accept-Encoding")
	if len(body) > 1024 && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var small bytes.Buffer
		z, _ := gzip.NewWriterLevel(&small, gzip.BestSpeed) // the level is valid
		_, _ = z.Write(body)                                // a buffer takes everything
		_ = z.Close()
		header.Set("Content-Encoding", "gzip")
		body = small.Bytes()
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have left
}

// Failure is an error as pages show it.
type Failure struct {
	*web.Problem
	Back string // where the viewer was, "" if unknown
}

func (s *Site) fail(w http.ResponseWriter, r *Request, section string, err error) {
	p := s.problem(w, r, err)
	l, rerr := render(s.failure, View[Failure]{r, Failure{p, r.cameFrom()}})
	if rerr != nil {
		s.opts.Front.Refuse(w, r.http, r.http.Pattern, errors.Join(err, rerr))
		return
	}
	s.show(w, r, p.Status, frame{Section: section, look: l})
}

// refuse answers a failed act. A script shows it beside the viewer's input; without one it is a page.
func (s *Site) refuse(w http.ResponseWriter, r *Request, err error) {
	if !scripted(r.http) {
		s.fail(w, r, "", err)
		return
	}
	p := s.problem(w, r, err)
	var out bytes.Buffer
	if rerr := s.parts.ExecuteTemplate(&out, "refusal", View[Failure]{r, Failure{p, ""}}); rerr != nil {
		s.opts.Front.Refuse(w, r.http, r.http.Pattern, errors.Join(err, rerr))
		return
	}
	w.Header().Set("HX-Retarget", "#notice")
	w.Header().Set("HX-Reswap", "innerHTML")
	w.Header().Set("HX-Push-Url", "false")
	send(w, r.http, p.Status, "text/html; charset=utf-8", out.Bytes())
}

// problem logs what it does not show.
func (s *Site) problem(w http.ResponseWriter, r *Request, err error) *web.Problem {
	p := web.ProblemOf(err)
	if p.Status >= http.StatusInternalServerError {
		s.log.ErrorContext(r.Context(), "a page of the dashboard failed", "page", r.http.Pattern,
			"request_id", w.Header().Get("X-Request-Id"), "error", err)
	}
	return p
}

// cameFrom returns the referring page of this server, "" for none.
func (r *Request) cameFrom() string {
	from, err := url.Parse(r.http.Referer())
	if err != nil || from.Host != r.http.Host || from.RequestURI() == r.http.URL.RequestURI() {
		return ""
	}
	return inside(from.RequestURI())
}

func (f frame) TopicList() string { return strings.Join(f.Topics, " ") }
