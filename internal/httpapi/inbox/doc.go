// Package inbox is the family of routes of dead letters: /v1/groups, /v1/dead-letters, /v1/redrives, /v1/sources and
// /v1/policies. It serves a deadletters.Backend; a server without one answers every route with unavailable.
//
// routes.go shows the family on one screen, with the permissions of each route. What a permission allows depends on the
// content of some requests: permissions.go has those rules.
package inbox
