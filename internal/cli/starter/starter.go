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

// kind is a way to write a worker.
type kind struct {
	files []string // below files; without .txt, the name that each gets
	needs string   // what a reader needs first, in the README; may be empty
	start string   // the commands that start the worker, in the README
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

// Workers returns the names of the ways to write a worker.
func Workers() []string { return slices.Sorted(maps.Keys(kinds)) }

// Write writes the files for a way to write a worker into a directory, which it makes if it is missing, and returns
// their names. It overwrites nothing: if one of the files is there, the error names it, and nothing is written.
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
