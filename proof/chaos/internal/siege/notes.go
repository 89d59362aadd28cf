package siege

import (
	"fmt"
	"sync"
	"time"
)

type notes struct {
	mu   sync.Mutex
	all  []string
	seen map[string]int
}

// shown bounds the fully kept violations of one kind.
const shown = 5

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

func (n *notes) result() ([]string, map[string]int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all, n.seen
}
