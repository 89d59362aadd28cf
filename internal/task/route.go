package task

import (
	"slices"
	"strings"
)

// Route is where a ready step queues: namespace, handler and the capabilities
// that its worker needs. A worker polls only routes that it can serve, so a
// claim never reads work that the worker cannot do.
type Route struct {
	ID           int64 // the store's short key, 0 before it is stored
	Namespace    string
	Handler      string
	Capabilities []string // sorted, no duplicates
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

// Worker is a process that claims steps.
type Worker struct {
	No            int64 // the store's short key, 0 before it is stored
	ID            ID
	Name          string
	State         WorkerState
	Namespaces    []string // none means all
	Handlers      []string // none means all
	Capabilities  []string // sorted
	Capacity      int
	Load          int
	Host          string
	Version       string
	StartedAt     Instant
	LastHeartbeat Instant
}

// WorkerState is the state of a worker.
type WorkerState string

// Worker states.
const (
	WorkerActive   WorkerState = "active"
	WorkerDraining WorkerState = "draining" // takes nothing more
	WorkerDead     WorkerState = "dead"     // said good-bye, or missed its heartbeats
)

// Serves reports whether the worker can carry out steps of the route.
func (w *Worker) Serves(r Route) bool {
	if len(w.Namespaces) > 0 && !slices.Contains(w.Namespaces, r.Namespace) {
		return false
	}
	if len(w.Handlers) > 0 && !slices.Contains(w.Handlers, r.Handler) {
		return false
	}
	for _, c := range r.Capabilities {
		if _, has := slices.BinarySearch(w.Capabilities, c); !has {
			return false
		}
	}
	return true
}
