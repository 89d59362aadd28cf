package task

import (
	"slices"
	"strings"
)

// Route is the queue of a ready step: namespace, handler and required capabilities. A worker polls only routes that
// it can serve, so a claim never reads other workers' steps.
type Route struct {
	ID           int64 // the store's short key, 0 before it is stored
	Namespace    string
	Handler      string
	Capabilities []string // sorted, no duplicates
	Unread       string
}

// CapabilityKey is the canonical text of the capability set.
func (r Route) CapabilityKey() string { return strings.Join(r.Capabilities, "\n") }

// SplitCapabilities reverses CapabilityKey.
func SplitCapabilities(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, "\n")
}

// Capabilities returns the canonical form of a capability set.
func Capabilities(set []string) []string {
	out := slices.Clone(set)
	slices.Sort(out)
	return slices.Compact(out)
}
