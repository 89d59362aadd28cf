package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/taskerhq/tasker"
	// top is the directory of the module, relative to this package.
	top = "../../.."
)

// modules are the directories of our modules: the product, and what proves it, which may import the product's internal
// packages and is held to the same rules.
var modules = []string{".", "proof"}

// pkg is an answer of "go list".
type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	GoFiles    []string // without tests

	Imports, TestImports, XTestImports []string
	Deps                               []string // all imports, transitively
}

func (p pkg) short() string { return short(p.ImportPath) }

func short(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

var tree = sync.OnceValues(func() ([]pkg, error) {
	var all []pkg
	for _, dir := range modules {
		// -e: the imports of proof are known before its dependencies are downloaded.
		cmd := exec.Command("go", "list", "-e", "-json", "./...")
		cmd.Dir = filepath.Join(top, dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list packages of %s: %w", dir, err)
		}
		before := len(all)
		for dec := json.NewDecoder(bytes.NewReader(out)); ; {
			var p pkg
			err := dec.Decode(&p)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("decode packages of %s: %w", dir, err)
			}
			all = append(all, p)
		}
		if len(all)-before < 10 {
			return nil, fmt.Errorf("go list found %d packages in %s: the rules would hold of nothing", len(all)-before, dir)
		}
	}
	return all, nil
})

func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func find(t *testing.T, name string) pkg {
	t.Helper()
	all := packages(t)
	i := slices.IndexFunc(all, func(p pkg) bool { return p.short() == name })
	if i < 0 {
		t.Fatalf("there is no package %s any more: change the rules with the tree", name)
	}
	return all[i]
}

// inModule reports whether the path is ours; standard, whether its first element has no dot.
func inModule(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func files(t *testing.T, suffix string, fn func(path string, content []byte)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, suffix):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		fn(filepath.ToSlash(strings.TrimPrefix(path, top+string(filepath.Separator))), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatalf("there is no file *%s", suffix)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(top, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
