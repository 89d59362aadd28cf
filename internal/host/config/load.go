package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
)

// Sources are the sources of settings besides the defaults; later fields override earlier ones.
type Sources struct {
	// File is the path of a YAML file; "" means none.
	File string
	// Text is a YAML document with the same keys, in place of a file; TextName is its name in the places of problems. ""
	// means none.
	Text, TextName string
	// Environ holds NAME=VALUE pairs, as os.Environ returns them.
	Environ []string
	// Flags are the flags of the command line.
	Flags []Flag
}

// Flag is a flag of the command line that sets a key.
type Flag struct {
	Name string // with its dashes, as shown to the user
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

// Load reads all sources and returns the effective Config. The error is a *tasker.Error of
// CodeInvalid with one detail for each problem, so that one run shows all of them. Load opens
// no database and no port.
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
		// A value that could not be read would be checked by its default.
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

// loader collects values and problems during one Load.
type loader struct {
	cfg      *Config
	settings []leaf
	values   map[string]*document.Node // in force, by path
	origins  map[string]Origin         // of values
	lines    map[string]string         // file:line:column by path, list items included
	problems []tasker.Detail
}

// problem records a problem at a place: file:line:column, variable or flag.
func (l *loader) problem(place, format string, args ...any) {
	l.problems = append(l.problems, tasker.Detail{Location: place, Message: fmt.Sprintf(format, args...)})
}

// known returns the setting of a path, if there is one.
func (l *loader) known(path string) (leaf, bool) {
	i := slices.IndexFunc(l.settings, func(s leaf) bool { return s.path == path })
	if i < 0 {
		return leaf{}, false
	}
	return l.settings[i], true
}

// set replaces the value of the earlier sources.
func (l *loader) set(path string, value *document.Node, from Origin) {
	l.values[path], l.origins[path] = value, from
}

// loadFlags sets the values of the flags.
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

// place returns the place where the value at path was set, for an item of a list in a file that
// of the item. A default has no place.
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

// decodeAll stores the effective values in the fields of the Config. Only they are checked: an
// invalid value that a later source overrides does no harm.
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
