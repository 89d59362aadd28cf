package letters

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/proof/crashtest/account"
)

// notes are the counts and violations of a run. They are safe for concurrent use.
type notes struct {
	account.Violations

	label string // name of the run
	out   io.Writer

	mu     sync.Mutex
	counts map[string]int
	times  []time.Duration // from a failover to the next letter or job
	// windows are the failovers.
	windows []window
}

func (n *notes) count(what string) { n.add(what, 1) }

func (n *notes) add(what string, by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.counts == nil {
		n.counts = map[string]int{}
	}
	n.counts[what] += by
}

func (n *notes) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.out, "  %s %s\n", n.label, fmt.Sprintf(format, args...))
}

// Report is the result of a run.
type Report struct {
	Name       string
	Kills      int
	Text       string   // one line
	Violations []string // of each kind the first five
	Err        error    // why it could not be carried out
	Logs       string   // the ends of the logs of a failed run
}

// OK reports whether all promises were kept.
func (r *Report) OK() bool { return r.Err == nil && len(r.Violations) == 0 }

func (r *run) report(took time.Duration, err error) *Report {
	found, shown := r.Found()
	rep := &Report{Name: r.name, Err: err, Violations: shown}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(r.counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, r.counts[what]))
		if strings.HasPrefix(what, "kill ") {
			rep.Kills += r.counts[what]
		}
	}
	if len(r.times) > 0 {
		slices.Sort(r.times)
		parts = append(parts, fmt.Sprintf("back after a failover in %v (median), %v (longest)",
			r.times[len(r.times)/2].Round(time.Millisecond), r.times[len(r.times)-1].Round(time.Millisecond)))
	}
	rep.Text = fmt.Sprintf("%s, %v: %s", r.name, took.Round(time.Second), strings.Join(parts, ", "))
	if err == nil && r.counts["letters"]+r.counts["jobs"]+r.counts["tasks"] == 0 || rep.Kills < r.options.Kills {
		rep.Violations = append(rep.Violations, "the run proves nothing: nothing was captured, or killed too seldom")
	}
	for kind, n := range found {
		rep.Violations = append(rep.Violations, fmt.Sprintf("%d times in all: %s", n, kind))
	}
	if r.nodes != nil {
		for _, s := range r.nodes.Servers {
			rep.Violations = append(rep.Violations, s.Crashes()...)
		}
	}
	if r.fleet != nil {
		rep.Violations = append(rep.Violations, r.fleet.crashes()...)
	}
	if r.crowd != nil {
		rep.Violations = append(rep.Violations, r.crowd.crashes()...)
	}
	if !rep.OK() {
		rep.Logs = ends(r.dir)
	}
	return rep
}

func ends(dir string) string {
	const lines = 25
	names, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	var out strings.Builder
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		all := strings.Split(strings.TrimSpace(string(raw)), "\n")
		fmt.Fprintf(&out, "the end of %s:\n%s\n", name, strings.Join(all[max(len(all)-lines, 0):], "\n"))
	}
	return out.String()
}
