package siege

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

// excused are errors that a node may log: the database is away, or full.
var excused = regexp.MustCompile(`the database (does not answer|takes no more connections)`)

// searchLogs notes errors in the nodes' logs that no fault explains.
func searchLogs(c *cluster.Cluster, notes *notes) {
	for _, n := range c.Nodes {
		f, err := os.Open(n.Log.Name())
		if err != nil {
			notes.add("log", "%v", err)
			continue
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := lines.Text()
			broken := strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") ||
				line == "WARNING: DATA RACE"
			if broken || strings.Contains(line, " level=ERROR ") && !excused.MatchString(line) {
				notes.add("log", "node %d: %s", n.Index, line)
			}
		}
		if err := lines.Err(); err != nil {
			notes.add("log", "node %d: %v", n.Index, err)
		}
		f.Close()
	}
}

// tails returns the end of each log.
func tails(c *cluster.Cluster) string {
	var b strings.Builder
	for _, name := range c.Logs() {
		raw, err := os.ReadFile(name)
		if err != nil {
			raw = []byte(err.Error())
		}
		lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
		fmt.Fprintf(&b, "----- the end of %s\n%s\n", filepath.Base(name), strings.Join(lines[max(len(lines)-25, 0):], "\n"))
	}
	return b.String()
}
