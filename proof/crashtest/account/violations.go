package account

import (
	"fmt"
	"sync"
)

// Violations are what a check has found. Its methods are safe for concurrent use.
type Violations struct {
	mu    sync.Mutex
	found map[string]int
	shown []string
}

// Wrong notes a violation; five of each kind are shown.
func (v *Violations) Wrong(kind, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found == nil {
		v.found = map[string]int{}
	}
	if v.found[kind]++; v.found[kind] <= 5 {
		v.shown = append(v.shown, kind+": "+fmt.Sprintf(format, args...))
	}
}

// Found returns the number of each kind, and the texts that are shown.
func (v *Violations) Found() (kinds map[string]int, shown []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.found, v.shown
}
