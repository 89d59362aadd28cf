package access

import (
	"context"
	"slices"
)

// Permission is a kind of act that a key allows.
type Permission string

// The permissions. Admin implies all others.
const (
	Submit  Permission = "submit"  // submit and cancel tasks; report dead letters
	Read    Permission = "read"    // read tasks, steps, templates, workers; groups, redrives, sources, but no letters
	Operate Permission = "operate" // register templates, repair steps, cancel; triage groups, redrive cases
	Work    Permission = "work"    // the worker protocol; report dead letters
	Admin   Permission = "admin"   // everything
)

// The permissions of dead letters. Only Admin implies them: payloads may be confidential, and a key for tasks must
// not show them.
const (
	DeadLettersRead    Permission = "dead-letters:read"    // read letters, with their payloads
	DeadLettersRedrive Permission = "dead-letters:redrive" // send letters back, run cases again; triage groups
	DeadLettersEdit    Permission = "dead-letters:edit"    // change what is sent instead of a letter
	DeadLettersDiscard Permission = "dead-letters:discard" // discard and restore letters
	SourcesAdmin       Permission = "sources:admin"        // add, change and remove sources and policies
)

// Sensitive shows, on request, what templates and sources mark as sensitive. It opens no route. Only Admin implies
// it.
const Sensitive Permission = "sensitive"

// Permissions returns all permissions, the weakest first.
func Permissions() []Permission {
	return []Permission{Submit, Read, Operate, Work, DeadLettersRead, DeadLettersRedrive, DeadLettersEdit,
		DeadLettersDiscard, SourcesAdmin, Sensitive, Admin}
}

// Principal is the holder of one key, for whom a request acts.
type Principal struct {
	// Name appears in logs and acts.
	Name string

	life        context.Context // ends when the key is gone or has other rights; nil: never
	id          string
	permissions []Permission
	namespaces  []string
}

// ID identifies the key among keys of the same name and reveals nothing about it.
func (p *Principal) ID() string { return p.id }

// Life ends when the key is removed or gets other rights, and ends streams and long polls with it. It is nil for a
// nil principal.
func (p *Principal) Life() context.Context {
	if p == nil {
		return nil
	}
	return p.life
}

// Can reports whether the principal has one of the permissions or is admin.
func (p *Principal) Can(oneOf ...Permission) bool {
	for _, have := range p.permissions {
		if have == Admin || slices.Contains(oneOf, have) {
			return true
		}
	}
	return false
}

// Limited reports whether the principal is limited to some namespaces. A nil principal is not.
func (p *Principal) Limited() bool { return p != nil && len(p.namespaces) > 0 }

// Reaches reports whether the principal may act in a namespace.
func (p *Principal) Reaches(namespace string) bool {
	return !p.Limited() || slices.Contains(p.namespaces, namespace)
}

// Namespaces returns the namespaces of a limited principal.
func (p *Principal) Namespaces() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.namespaces)
}
