// Package starter writes the files of a first workflow: a template, a worker, a compose file and a README.
package starter

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed files
var files embed.FS

type kind struct {
	files []string // below files; without .txt, the written name
	needs string   // prerequisites for the README; may be empty
	start string   // commands that start the worker, for the README
}

var kinds = map[string]kind{
	"program": {
		files: []string{"greet.sh", "record.sh"},
		start: "tasker worker --namespace starter --handler greet='sh greet.sh' --handler record='sh record.sh' " +
			"2> worker.log &",
	},
	"python": {
		files: []string{"worker.py"},
		needs: "The worker needs the client for Python: `pip install` the folder `clients/python` of a clone of " +
			"Tasker.\n\n",
		start: "python3 worker.py 2> worker.log &",
	},
	"go": {
		files: []string{"main.go.txt", "go.mod.txt"},
		needs: "The worker needs Go 1.26; `go mod tidy` fetches the client.\n\n",
		start: "go mod tidy\ngo build -o worker .\n./worker 2> worker.log &",
	},
}

// Workers returns the kinds of workers.
func Workers() []string { return slices.Sorted(maps.Keys(kinds)) }

// Write writes the files for a kind of worker into a directory, which it creates if necessary, and returns their
// names. If a file exists, it writes nothing and names it in the error.
func Write(dir, worker string) ([]string, error) {
	k, known := kinds[worker]
	if !known {
		return nil, fmt.Errorf("there is no worker %q, only %s", worker, strings.Join(Workers(), ", "))
	}
	content := map[string][]byte{}
	for _, name := range append([]string{"README.md", "compose.yaml", "greeting.yaml"}, k.files...) {
		raw, err := files.ReadFile("files/" + name)
		if err != nil {
			return nil, err
		}
		text := strings.Replace(string(raw), "{{BEFORE}}", k.needs, 1)
		text = strings.Replace(text, "{{WORKER}}", k.start, 1)
		content[strings.TrimSuffix(name, ".txt")] = []byte(text)
	}
	names := slices.Sorted(maps.Keys(content))
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s exists already, or cannot be seen; name another directory", filepath.Join(dir, name))
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for the reader's own files
		return nil, err
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), content[name], 0o644); err != nil { //nolint:gosec // as above
			return nil, err
		}
	}
	return names, nil
}
