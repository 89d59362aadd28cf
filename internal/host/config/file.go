package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/document"
)

// limits of a file and the value of a variable. Their author runs the process, so they only catch accidents.
var limits = document.Limits{Marks: 1_000_000, Entries: 50_000, Depth: 64, Nodes: 1_000_000, Merged: 100_000,
	Digits: 1000}

// loadFile reports an unreadable file like any other problem, so that the other sources are still checked.
func (l *loader) loadFile(path string) {
	src, err := os.ReadFile(path)
	if err != nil {
		var perr *os.PathError
		if errors.As(err, &perr) {
			err = perr.Err
		}
		l.problem(path, "the configuration file cannot be read: %v", err)
		return
	}
	l.loadText(path, src)
}

// loadText sets the values of a YAML document; path names it in places.
func (l *loader) loadText(path string, src []byte) {
	root := document.Parse(src, document.Options{
		What: "the file", Limits: limits,
		Report: func(at document.Position, message string) { l.problem(in(path, at), "%s", message) },
	})
	switch {
	case root == nil || root.Kind == document.Null: // an empty file sets nothing
	case root.Kind != document.Mapping:
		l.problem(in(path, root.At), "the file must hold sections and keys, such as `server:`")
	default:
		l.walk(path, "", root)
	}
}

func (l *loader) walk(file, prefix string, section *document.Node) {
	for _, p := range section.Pairs {
		path, place, value := prefix+p.Key, in(file, p.At), p.Value
		setting, known := l.known(path)
		switch {
		case known:
			if value.Kind != document.Null {
				l.mark(file, path, value)
				l.set(setting.path, value, Origin{"file", place})
			}
		case !isSection(l.settings, path):
			l.unknown(place, path)
		case value.Kind == document.Mapping:
			l.walk(file, path+".", value)
		case value.Kind == document.Null:
		case path == "db" && value.Kind != document.List:
			l.set("db.dsn", document.NewText(cmp.Or(value.Raw, value.Text)), Origin{"file", place})
		default:
			l.problem(place, "%s is a section: it holds keys such as %s", path, l.firstKeyOf(path))
		}
	}
}

// mark records the place of a value and its items, so that a problem in a list has its own line.
func (l *loader) mark(file, path string, n *document.Node) {
	l.lines[path] = in(file, n.At)
	for i, item := range n.Items {
		l.mark(file, fmt.Sprintf("%s[%d]", path, i), item)
	}
	for _, p := range n.Pairs {
		sub := path + "." + p.Key
		l.mark(file, sub, p.Value)
		l.lines[sub] = in(file, p.At)
	}
}

func (l *loader) unknown(place, path string) {
	paths := make([]string, len(l.settings))
	for i, s := range l.settings {
		paths[i] = s.path
	}
	if near := nearest(path, paths); near != "" {
		l.problem(place, "unknown key %s; did you mean %s?", path, near)
		return
	}
	l.problem(place, "unknown key %s", path)
}

func (l *loader) firstKeyOf(section string) string {
	for _, s := range l.settings {
		if strings.HasPrefix(s.path, section+".") {
			return s.path
		}
	}
	return section
}

func in(file string, at document.Position) string {
	return fmt.Sprintf("%s:%d:%d", file, at.Line, at.Column)
}
