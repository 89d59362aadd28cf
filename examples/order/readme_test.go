//go:build unix

package main

import (
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m, map[string]func(){"order": main}) }

func TestReadme(t *testing.T) {
	t.Parallel()
	pagetest.Example{Programs: []string{"order"}}.Run(t)
}
