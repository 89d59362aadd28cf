//go:build unix

package main

import (
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m, map[string]func(){"thumbnails": main}) }

func TestReadme(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "jq")
	pagetest.Example{Programs: []string{"thumbnails"}}.Run(t)
}
