// Package public offers the use cases of package inbox as a deadletters.Backend: it converts between public and domain
// types, and contains no rules of its own.
//
// public.go declares what it needs of an inbox, and a file for each noun holds the verbs: letters.go, groups.go,
// redrives.go, sources.go. The files show_*.go convert to public types, read_*.go from them.
package public
