//go:build unix

package webhooks_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pagetest"
	"github.com/taskerhq/tasker/internal/testkit/process"
)

func TestMain(m *testing.M) { pagetest.Main(m, nil) }

func TestReadme(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "node", "npm", "flock")
	receiver, err := process.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(receiver[0], ":")
	pagetest.Example{Replace: map[string]string{"127.0.0.1:9090": receiver[0]}, Env: []string{"PORT=" + port},
		Servers: []string{"receiver.js"}}.Run(t)
}
