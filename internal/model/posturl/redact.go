package posturl

import (
	"net/url"
	"regexp"
	"strings"
)

// hidden stands for a user and a password. It is what url.URL.Redacted uses.
const hidden = "xxxxx"

// Redact returns a text for eyes: if it is a URL with a user or a password, without them. Sources and letters may have
// such a URL from a time when it was not refused. A text that cannot be read may have them wherever there is an @.
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

// users finds the users of URLs within a JSON document.
var users = regexp.MustCompile(`(https?://)[^/?#"\s]*@`)

// RedactWithin is Redact for all URLs in a JSON document.
func RedactWithin(doc []byte) []byte { return users.ReplaceAll(doc, []byte("${1}"+hidden+"@")) }

// RedactAll is Redact for each text of a list.
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
