package rabbittest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// OldestMajor and OldestMinor are the oldest version of RabbitMQ that Tasker works with.
const (
	OldestMajor = 3
	OldestMinor = 10
)

// places are where distributions put the server's scripts. Debian's rabbitmq-server in the search path requires root or
// the user rabbitmq.
var places = []string{
	"/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server",
	"/usr/local/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server",
	"/opt/homebrew/Cellar/rabbitmq/*/sbin/rabbitmq-server",
	"/usr/local/Cellar/rabbitmq/*/sbin/rabbitmq-server",
}

var version = regexp.MustCompile(`(?:rabbitmq_server-|rabbitmq/)(\d+)\.(\d+)\.`)

// Program returns the path of the script that starts the server.
func Program() (string, error) {
	tooOld := ""
	for _, place := range places {
		found, err := filepath.Glob(place)
		if err != nil {
			return "", fmt.Errorf("look for RabbitMQ: %w", err)
		}
		for _, path := range found {
			m := version.FindStringSubmatch(path)
			if _, err := os.Stat(path); err != nil || m == nil {
				continue
			}
			major, _ := strconv.Atoi(m[1]) // they are digits
			minor, _ := strconv.Atoi(m[2])
			if major > OldestMajor || major == OldestMajor && minor >= OldestMinor {
				return path, nil
			}
			tooOld = fmt.Sprintf("; %s is version %d.%d", path, major, minor)
		}
	}
	return "", fmt.Errorf("rabbitmq-server, version %d.%d or newer, is %w%s", OldestMajor, OldestMinor,
		testserver.ErrMissing, tooOld)
}
