//go:build unix

package upgrade_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// version is one to upgrade from.
type version struct {
	commit string
	flows  bool // it supports the workflows of load.Flows
}

// untagged are the old versions before the first tag: before results were kept in a blob store (PostgreSQL is at
// migration 0042), and, with UPGRADE_FROM=all, before checkpoints, logs and child tasks (0038).
var untagged = map[string]version{
	"BeforeChildren":     {"75c14e350849", false},
	"BeforeLargeResults": {"74a0dc34c2b9", true},
}

func git(ctx context.Context, root string, args ...string) string {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// versions returns the versions to upgrade from, by name: UPGRADE_FROM, else the last tag, else one of untagged.
func versions(ctx context.Context, root string) map[string]version {
	tag := os.Getenv("UPGRADE_FROM")
	if tag == "all" {
		return untagged
	}
	if tag == "" {
		// Not the tag of this version.
		tag = git(ctx, root, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD~1")
	}
	if tag == "" {
		const newest = "BeforeLargeResults"
		return map[string]version{newest: untagged[newest]}
	}
	return map[string]version{tag: {tag, true}}
}

// build builds the version in dir and returns the path of the binary. A shallow clone, as in many CI systems, lacks the
// commit: then it builds the oldest one and says so. Without any history it is the current binary, so that at least the
// replacement of nodes is tested.
func (v version) build(t *testing.T, root, dir, current string) string {
	t.Helper()
	ctx := t.Context()
	commit := git(ctx, root, "rev-parse", "--verify", "--quiet", v.commit+"^{commit}")
	if commit == "" {
		commit, _, _ = strings.Cut(git(ctx, root, "rev-list", "--max-parents=0", "HEAD"), "\n")
		if commit == "" {
			t.Logf("NOT TESTED: the upgrade from %s. There is no history of git here; nodes of this version are replaced "+
				"by nodes of the same version", v.commit)
			return current
		}
		t.Logf("NOT TESTED: the upgrade from %s, which is not in this shallow clone. The old version is %s, the oldest "+
			"that is", v.commit, commit)
	}
	source := filepath.Join(dir, "old")
	if err := extract(ctx, root, commit, source); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "tasker-old")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "./cmd/tasker")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", commit, err, out)
	}
	return program
}

func extract(ctx context.Context, root, commit, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	archive := exec.CommandContext(ctx, "git", "-C", root, "archive", commit)
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", dir)
	reader, writer := io.Pipe()
	archive.Stdout, unpack.Stdin = writer, reader
	if err := unpack.Start(); err != nil {
		return fmt.Errorf("unpack %s: %w", commit, err)
	}
	err := archive.Run()
	writer.Close()
	if werr := unpack.Wait(); err == nil {
		err = werr
	}
	if err != nil {
		return fmt.Errorf("unpack %s: %w", commit, err)
	}
	return nil
}
