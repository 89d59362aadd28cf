package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
)

// Sources are the sources of settings beyond the defaults; later fields override earlier ones.
type Sources struct {
	// File is the path of a YAML file; "" for none.
	File string
	// Text is a YAML document instead of a file; TextName names it in places.
	Text, TextName string
	// Environ has NAME=VALUE pairs, as from os.Environ.
	Environ []string
	Flags   []Flag
}

// Flag is a command-line flag that sets a key.
type Flag struct {
	Name string // with its dashes
	Key  string
	Text string
}

// Origin is the source of a setting.
type Origin struct {
	Layer string // default, file, env, flag
	Place string // file:line:column, variable, flag; "" for a default
}

func (o Origin) String() string {
	return strings.TrimSpace(o.Layer + " " + o.Place)
}

// Load returns the effective Config of all sources. The error is a *tasker.Error of CodeInvalid with a detail for
// each problem. Load opens neither database nor port.
func Load(src Sources) (*Config, error) {
	cfg := Default()
	l := loader{
		cfg: &cfg, settings: leaves(&cfg), values: map[string]*document.Node{},
		origins: map[string]Origin{}, lines: map[string]string{},
	}
	if src.File != "" {
		l.loadFile(src.File)
	}
	if src.Text != "" {
		l.loadText(src.TextName, []byte(src.Text))
	}
	l.loadEnv(src.Environ)
	l.loadFlags(src.Flags)
	before := len(l.problems)
	l.decodeAll()
	cfg = cfg.withDefaults()
	cfg.origins = l.origins
	if len(l.problems) == before {
		// An unreadable value would be checked by its default.
		l.validate()
	}
	if len(l.problems) == 0 {
		return &cfg, nil
	}
	return nil, &tasker.Error{
		Code:    tasker.CodeInvalid,
		Message: fmt.Sprintf("the configuration is not valid (%s)", wording.Count(len(l.problems), "problem")),
		Details: l.problems,
	}
}

type loader struct {
	cfg      *Config
	settings []leaf
	values   map[string]*document.Node // in force, by path
	origins  map[string]Origin         // of values
	lines    map[string]string         // file:line:column by path, list items included
	problems []tasker.Detail
}

func (l *loader) problem(place, format string, args ...any) {
	l.problems = append(l.problems, tasker.Detail{Location: place, Message: fmt.Sprintf(format, args...)})
}

func (l *loader) known(path string) (leaf, bool) {
	i := slices.IndexFunc(l.settings, func(s leaf) bool { return s.path == path })
	if i < 0 {
		return leaf{}, false
	}
	return l.settings[i], true
}

func (l *loader) set(path string, value *document.Node, from Origin) {
	l.values[path], l.origins[path] = value, from
}

func (l *loader) loadFlags(flags []Flag) {
	for _, f := range flags {
		s, ok := l.known(f.Key)
		if !ok {
			l.problem(f.Name, "unknown key %s", f.Key)
			continue
		}
		l.setText(s, f.Text, Origin{"flag", f.Name})
	}
}

// place returns where the value at path was set, for a list item in a file its own line; "" for a default.
func (l *loader) place(path string) string {
	setting, _, _ := strings.Cut(path, "[")
	from := l.origins[setting]
	for from.Layer == "file" && path != setting {
		if line, ok := l.lines[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), len(setting))]
	}
	return from.Place
}

// decodeAll checks only effective values: an overridden invalid value does no harm.
func (l *loader) decodeAll() {
	d := decoder{report: func(path, format string, args ...any) {
		l.problem(l.place(path), "%s "+format, append([]any{path}, args...)...)
	}}
	for _, s := range l.settings {
		if value, given := l.values[s.path]; given {
			d.hides = slices.Contains(secretive, s.path)
			d.decode(s.path, value, s.field)
		}
	}
}
