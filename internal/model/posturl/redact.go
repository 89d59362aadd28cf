package posturl

import (
	"net/url"
	"regexp"
	"strings"
)

// hidden replaces user and password, as in url.URL.Redacted.
const hidden = "xxxxx"

// Redact hides the user and password of a URL, which stored sources and letters may have. An unreadable text may
// have them before any @.
func Redact(text string) string {
	scheme, rest, is := strings.Cut(text, "://")
	if !is {
		return text
	}
	u, err := url.Parse(text)
	if err == nil && u.User == nil {
		return text
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); err == nil && i >= 0 {
		end = i
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return text
	}
	return scheme + "://" + hidden + rest[at:]
}

// HasUser reports whether Redact hides something.
func HasUser(text string) bool { return Redact(text) != text }

var users = regexp.MustCompile(`(https?://)[^/?#"\s]*@`)

// RedactWithin is Redact for all URLs in a JSON document.
func RedactWithin(doc []byte) []byte { return users.ReplaceAll(doc, []byte("${1}"+hidden+"@")) }

// RedactAll applies Redact to each text.
func RedactAll(list []string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = Redact(text)
	}
	return out
}
