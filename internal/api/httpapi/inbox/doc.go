// Package inbox is the family of routes of dead letters: /v1/groups, /v1/dead-letters, /v1/redrives, /v1/sources and
// /v1/policies. It serves a deadletters.Backend; without one every route answers unavailable.
//
// routes.go has a table for each noun. The permissions of some requests depend on their content: see redrives.go.
// export.go is the one route without a JSON answer.
//
// Handlers check the request: the key's permissions and namespaces, repeated parameters, preconditions in two places.
// All other rules are the backend's.
package inbox
