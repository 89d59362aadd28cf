//go:build unix

package report_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m, nil) }

func TestReadme(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "jq")
	pagetest.Example{}.Run(t)
}
