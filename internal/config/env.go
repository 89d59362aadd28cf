package config

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
	yamlv3 "go.yaml.in/yaml/v3"
)

const envPrefix = "TASKER_"

// reserved names the variables that start like a setting and are none: the
// command line reads them for itself, or they tell our own tests, which start
// whole servers, where a database is.
func reserved(name string) bool {
	return name == "TASKER_SERVER" || name == "TASKER_API_KEY" || name == "TASKER_CONFIG" || strings.HasPrefix(name, "TASKER_TEST_")
}

// serviceLink matches what Kubernetes puts into the environment of every pod
// beside a service named tasker or tasker-something. It is not a typing error
// of the user's, so it is passed over.
var serviceLink = regexp.MustCompile(`^TASKER_(.*_)?(SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_(TCP|UDP|SCTP)(_.*)?)?)$`)

// loadEnv reads the TASKER_ variables.
func (l *loader) loadEnv(environ []string) {
	values := koanf.New("\x00") // no delimiter: names stay whole
	provider := env.Provider("\x00", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, text string) (string, any) {
			if text == "" || reserved(name) || serviceLink.MatchString(name) {
				return "", nil
			}
			return name, text
		},
	})
	if err := values.Load(provider, nil); err != nil {
		l.problem("environment", "%v", err)
		return
	}
	paths := map[string]string{"TASKER_DB": "db.dsn"}
	for _, s := range l.settings {
		paths[envName(s.path)] = s.path
	}
	names := values.Keys()
	slices.Sort(names)
	for _, name := range names {
		path, ok := paths[name]
		if !ok {
			l.unknownVariable(name)
			continue
		}
		setting, _ := l.known(path)
		l.setText(setting, values.String(name), Origin{"env", name})
	}
}

func (l *loader) unknownVariable(name string) {
	names := make([]string, len(l.settings))
	for i, s := range l.settings {
		names[i] = envName(s.path)
	}
	if near := nearest(name, names); near != "" {
		l.problem(name, "no setting has this variable; did you mean %s?", near)
		return
	}
	l.problem(name, "no setting has this variable")
}

// setText sets a value given as text, by a variable or a flag. Text stays text
// where the setting is text; elsewhere it is read as YAML, so that a list can
// be given as [{name: a}].
func (l *loader) setText(s leaf, text string, from Origin) {
	var value any = text
	switch kind := s.field.Kind(); {
	case kind == reflect.String, s.field.Type() == durationType:
	case kind == reflect.Bool:
		if b, err := strconv.ParseBool(strings.TrimSpace(text)); err == nil {
			value = b
		}
	default:
		var v any
		if err := yamlv3.Unmarshal([]byte(text), &v); err != nil {
			l.problem(from.Place, "%s: %s", s.path, strings.TrimPrefix(err.Error(), "yaml: "))
			return
		}
		value = v
	}
	l.set(s.path, value, from)
}
