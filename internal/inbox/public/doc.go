// Package public offers the use cases of package inbox as a deadletters.Backend: it converts between public and domain
// types, and contains no rules of its own. What can be converted is checked by package inbox, so that every caller gets
// the same refusals; what cannot, such as a malformed ID, is refused here with the same form of error.
//
// public.go declares what it needs of an inbox, and a file for each noun holds the verbs: letters.go, groups.go,
// redrives.go, sources.go, policies.go. The files show_*.go convert to public types, read_*.go from them. In public
// types a time that is not set is nil or the zero time, a duration is a number of seconds, an ID is a UUID, a group's
// ID is 16 hex digits, and a version is an ETag.
package public
