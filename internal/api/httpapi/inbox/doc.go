// Package inbox is the family of routes of dead letters: /v1/groups, /v1/dead-letters, /v1/redrives, /v1/sources and
// /v1/policies. It serves a deadletters.Backend; a server without one answers every route with unavailable.
//
// routes.go has a table for each noun, with the permissions of each route. What a permission allows depends on the
// content of some requests: redrives.go has those rules. export.go is the one route that does not answer with JSON.
//
// Handlers check what concerns the request: the key's permissions and namespaces, repeated parameters, preconditions in
// two places. All rules about letters, groups and redrives are the backend's.
package inbox
