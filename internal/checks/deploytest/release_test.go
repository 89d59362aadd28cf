package deploytest_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestGoInstall: `go install github.com/taskerhq/tasker/cmd/tasker@latest` refuses a module with replacements.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	if found := all(`(?m)^(replace|exclude)\b`, text(t, "go.mod")); len(found) > 0 {
		t.Errorf("go.mod has %q", found)
	}
}

// TestReleases: releases are for the systems in docs/reference/compatibility.md and `make platforms`, print their
// version, and their archives' files exist.
func TestReleases(t *testing.T) {
	t.Parallel()
	r := as[struct {
		Builds []struct {
			Main                  string
			Goos, Goarch, Ldflags []string
		}
		Archives []struct {
			Files []struct{ Src string }
		}
		Before struct{ Hooks []string }
	}](t, yamlFile(t, "deploy/goreleaser.yaml"))
	b := r.Builds[0]
	var targets []string
	for _, system := range b.Goos {
		for _, processor := range b.Goarch {
			targets = append(targets, system+"/"+processor)
		}
	}
	built := strings.Fields(all(`\$\(or \$\(PLATFORMS\),([^)]+)\)`, text(t, "Makefile"))[0])
	if !slices.Equal(targets, built) {
		t.Errorf("releases are for %v, make platforms builds for %v", targets, built)
	}
	if !strings.Contains(text(t, "docs/reference/compatibility.md"), "Linux, macOS, Windows on amd64 and arm64") {
		t.Error("docs/reference/compatibility.md promises other systems")
	}
	if !strings.Contains(b.Ldflags[0], "-X main.version=") || !strings.Contains(text(t, "cmd/tasker/main.go"),
		"\nvar version string\n") {
		t.Error("the version is not linked into the program")
	}
	names := []string{b.Main}
	for _, f := range r.Archives[0].Files {
		if !strings.HasPrefix(f.Src, "dist-files/") { // made by .ci/release-files
			names = append(names, strings.TrimSuffix(f.Src, "/*"))
		}
	}
	for _, name := range append(names, r.Before.Hooks[1]) {
		if _, err := os.Stat("../../../" + name); err != nil {
			t.Error(err)
		}
	}
}

// TestVersions: the newest section of the changelog, the chart and the clients tell of one version. The binary has that
// of the tag, by the linker.
func TestVersions(t *testing.T) {
	t.Parallel()
	sections := all(`(?m)^## \[(\d+\.\d+\.\d+)\] - (?:unreleased|\d{4}-\d\d-\d\d)$`, text(t, "CHANGELOG.md"))
	if len(sections) == 0 || len(sections) != len(all(`(?m)^## (.*)$`, text(t, "CHANGELOG.md"))) {
		t.Fatalf("the changelog has the versions %q, and sections without one", sections)
	}
	version := sections[0]
	chart := as[struct{ Version, AppVersion string }](t, yamlFile(t, "deploy/helm/tasker/Chart.yaml"))
	if chart.Version != version || chart.AppVersion != version {
		t.Errorf("the chart is %s for %s, the changelog tells of %s", chart.Version, chart.AppVersion, version)
	}
	for file, pattern := range map[string]string{"clients/python/src/tasker/_version.py": `"(\d+\.\d+\.\d+)`,
		"clients/typescript/package.json": `"version": "(\d+\.\d+\.\d+)`} {
		if got := all(pattern, text(t, file)); len(got) != 1 || got[0] != version {
			t.Errorf("%s tells of %q, the changelog of %s", file, got, version)
		}
	}
}
