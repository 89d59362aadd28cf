//go:build unix

package pipeline_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m, nil) }

func TestReadme(t *testing.T) {
	t.Parallel()
	pagetest.NeedPython(t)
	pagetest.Example{Env: []string{"PYTHONDONTWRITEBYTECODE=1"}}.Run(t)
}
