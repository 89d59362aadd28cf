package driver

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
)

const hidden = "***"

// Redact returns a URL for people: without password, user info that may be a token, query values and fragment. For an
// unparseable one it returns only the scheme.
func Redact(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Opaque != "" {
		if scheme, _, ok := strings.Cut(rawURL, "://"); ok && len(scheme) < 20 {
			return scheme + "://" + hidden
		}
		return hidden
	}
	text := u.Host + u.EscapedPath()
	if u.User != nil {
		text = hidden + "@" + text
	}
	if u.Scheme != "" {
		text = u.Scheme + "://" + text
	}
	if u.RawQuery != "" {
		text += "?" + hidden
	}
	return text
}

// Hide returns an error whose text shows no secret of a URL. A Registry does so for all drivers.
func Hide(err error, rawURL string) error { return secretsOf(rawURL).hide(err) }

type secrets []string

// secretsOf returns the secrets of a URL, the longest first: itself, its user info, its password, and the values of its
// query, as written and decoded. A query value of fewer than four bytes is a number or a switch, not a secret.
func secretsOf(rawURL string) secrets {
	all := secrets{rawURL}
	if before, _, ok := strings.Cut(rawURL, "@"); ok {
		_, info, _ := strings.Cut(before, "://")
		_, password, _ := strings.Cut(info, ":")
		all = append(all, info, password)
	}
	if u, err := url.Parse(rawURL); err == nil {
		if password, ok := u.User.Password(); ok {
			all = append(all, password, url.QueryEscape(password), url.PathEscape(password))
		} else {
			all = append(all, u.User.Username())
		}
		for _, values := range u.Query() {
			for _, v := range values {
				if len(v) >= 4 {
					all = append(all, v, url.QueryEscape(v))
				}
			}
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// hide returns an error that is err to errors.Is, without secrets in its text. It never returns a chain that could
// print another text.
func (s secrets) hide(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := text
	for _, secret := range s {
		clean = strings.ReplaceAll(clean, secret, hidden)
	}
	if clean == text {
		return err
	}
	return &redacted{text: clean, err: err}
}

type redacted struct {
	text string
	err  error
}

func (e *redacted) Error() string { return e.text }

// As finds a LossError, which has only queues and positions.
func (e *redacted) As(target any) bool {
	loss, ok := target.(**LossError)
	return ok && errors.As(e.err, loss)
}

func (e *redacted) Is(target error) bool { return errors.Is(e.err, target) }
