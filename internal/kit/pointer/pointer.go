package pointer

import "strings"

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// Escape escapes one part of a pointer.
func Escape(part string) string { return escaper.Replace(part) }

// Unescape returns the name or the index of one part of a pointer.
func Unescape(part string) string { return unescaper.Replace(part) }

// Move returns at, which lies below from, as the same place below to: with "/tasks/0" and "" "/tasks/0/name" becomes
// "/name". Another place stays unchanged. Everything lies below "".
func Move(at, from, to string) string {
	rest, below := strings.CutPrefix(at, from)
	if !below || from != "" && rest != "" && rest[0] != '/' {
		return at
	}
	return to + rest
}
