package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	yamlv3 "go.yaml.in/yaml/v3"
)

// loadFile reads the YAML file at path. A file that cannot be read or parsed
// is a problem like any other, so that the other layers are still checked.
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
	doc, ok := l.parse(path, src)
	if !ok {
		return
	}
	values := koanf.New(".")
	if err := values.Load(rawbytes.Provider(src), yaml.Parser()); err != nil {
		l.yamlProblem(path, err)
		return
	}
	l.walk(path, "", doc, values)
}

// parse returns the root mapping of src with the position of every node, which
// a parse into plain values does not give.
func (l *loader) parse(path string, src []byte) (*yamlv3.Node, bool) {
	dec := yamlv3.NewDecoder(bytes.NewReader(src))
	var doc, second yamlv3.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, false // an empty file sets nothing
	} else if err != nil {
		l.yamlProblem(path, err)
		return nil, false
	}
	if err := dec.Decode(&second); err == nil {
		l.problem(at(path, &second), "the file must hold one YAML document")
	}
	root := resolve(doc.Content[0])
	if root.Tag == "!!null" {
		return nil, false
	}
	if root.Kind != yamlv3.MappingNode {
		l.problem(at(path, root), "the file must hold sections and keys, such as `server:`")
		return nil, false
	}
	return root, true
}

// walk visits the keys of one section in the order of the file.
func (l *loader) walk(file, prefix string, section *yamlv3.Node, values *koanf.Koanf) {
	for i := 0; i+1 < len(section.Content); i += 2 {
		key, value := section.Content[i], resolve(section.Content[i+1])
		path := prefix + key.Value
		place := at(file, key)
		setting, known := l.known(path)
		switch {
		case known:
			if value.Tag != "!!null" {
				l.mark(file, path, value)
				l.set(setting.path, values.Get(path), Origin{"file", place})
			}
		case !isSection(l.settings, path):
			l.unknown(place, path)
		case value.Kind == yamlv3.MappingNode:
			l.walk(file, path+".", value, values)
		case path == "db" && value.Kind == yamlv3.ScalarNode && value.Tag != "!!null":
			l.set("db.dsn", value.Value, Origin{"file", place})
		case value.Tag != "!!null":
			l.problem(place, "%s is a section: it holds keys such as %s", path, l.firstKeyOf(path))
		}
	}
}

// mark remembers the line of everything inside a list.
func (l *loader) mark(file, path string, n *yamlv3.Node) {
	l.lines[path] = at(file, n)
	switch n = resolve(n); n.Kind {
	case yamlv3.SequenceNode:
		for i, item := range n.Content {
			l.mark(file, fmt.Sprintf("%s[%d]", path, i), item)
		}
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			sub := path + "." + n.Content[i].Value
			l.mark(file, sub, n.Content[i+1])
			l.lines[sub] = at(file, n.Content[i])
		}
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

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (?s:(.*))$`)

// yamlProblem moves the line of a YAML error to where places are shown.
func (l *loader) yamlProblem(path string, err error) {
	var typeErr *yamlv3.TypeError
	lines := []string{err.Error()}
	if errors.As(err, &typeErr) {
		lines = typeErr.Errors
	}
	for _, line := range lines {
		if m := yamlLine.FindStringSubmatch(line); m != nil {
			l.problem(path+":"+m[1], "%s", m[2])
			continue
		}
		l.problem(path, "%s", strings.TrimPrefix(line, "yaml: "))
	}
}

func resolve(n *yamlv3.Node) *yamlv3.Node {
	if n.Kind == yamlv3.AliasNode {
		return n.Alias
	}
	return n
}

func at(file string, n *yamlv3.Node) string {
	return fmt.Sprintf("%s:%d:%d", file, n.Line, n.Column)
}
