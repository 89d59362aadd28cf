//go:build unix

package upgrade_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/process"
)

// git asks git about the repository and returns its answer, which is empty if it fails.
func git(ctx context.Context, root string, args ...string) string {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// oldVersion returns the commit to upgrade from: what UPGRADE_FROM names, else the last tag, else "", this version.
func oldVersion(ctx context.Context, root string) string {
	if from := os.Getenv("UPGRADE_FROM"); from != "" {
		return from
	}
	// not the tag of this very version
	return git(ctx, root, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD~1")
}

// buildOld builds a commit in dir and returns the path of the binary, or that of the current one for "".
func buildOld(t *testing.T, root, dir, current, commit string) string {
	t.Helper()
	if commit == "" {
		return current
	}
	ctx := t.Context()
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

// buildNext builds this version with one migration more and returns the path of the binary.
func buildNext(t *testing.T, root, dir string) string {
	t.Helper()
	versions, err := postgres.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	added := filepath.Join(root, "internal/store/postgres/schema", fmt.Sprintf("%04d_rolling.sql", len(versions)+1))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		added: filepath.Join(root, "internal/store/migration/testdata/rolling.sql")}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := process.Build(t.Context(), dir, "-trimpath", "-overlay", list)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// extract writes the files of a commit into a new directory.
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
