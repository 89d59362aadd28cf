package access

import "slices"

// Permission is a kind of act that a key allows.
type Permission string

// The permissions. Admin implies all others.
const (
	Submit  Permission = "submit"  // submit and cancel tasks
	Read    Permission = "read"    // read tasks, steps, templates, workers
	Operate Permission = "operate" // register templates, repair steps, cancel
	Work    Permission = "work"    // the worker protocol
	Admin   Permission = "admin"   // everything
)

// Permissions returns all permissions, the weakest first.
func Permissions() []Permission {
	return []Permission{Submit, Read, Operate, Work, Admin}
}

// Principal is the holder of one key, for whom a request acts.
type Principal struct {
	// Name is the name of the key; logs and acts record it.
	Name string

	permissions []Permission
	namespaces  []string
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

// Limited reports whether the principal is limited to some namespaces. A nil principal, every caller of a
// server without keys, is not.
func (p *Principal) Limited() bool { return p != nil && len(p.namespaces) > 0 }

// Reaches reports whether the principal may act in a namespace.
func (p *Principal) Reaches(namespace string) bool {
	return !p.Limited() || slices.Contains(p.namespaces, namespace)
}

// Namespaces returns the namespaces to which the principal is limited, none when it is not limited.
func (p *Principal) Namespaces() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.namespaces)
}
