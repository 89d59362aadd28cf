package proof

import (
	"fmt"
	"sync"
	"time"
)

// notes are violations that were seen while the run went on.
type notes struct {
	mu   sync.Mutex
	all  []string
	seen map[string]int
}

// shown bounds how many violations of one kind are kept in full.
const shown = 5

// add notes a violation of a kind.
func (n *notes) add(kind, format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]int{}
	}
	if n.seen[kind]++; n.seen[kind] <= shown {
		n.all = append(n.all, time.Now().Format("15:04:05.000 ")+kind+": "+fmt.Sprintf(format, args...))
	}
}

// result returns what was noted, and how often by kind.
func (n *notes) result() ([]string, map[string]int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all, n.seen
}
