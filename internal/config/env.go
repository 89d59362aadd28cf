package config

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/document"
)

const envPrefix = "TASKER_"

// reserved names the variables that have the prefix of a setting and are none: the command line reads them,
// or they locate a database for our own tests, which start whole servers.
func reserved(name string) bool {
	return name == "TASKER_SERVER" || name == "TASKER_API_KEY" || name == "TASKER_CONFIG" ||
		strings.HasPrefix(name, "TASKER_TEST_")
}

// serviceLink matches the variables that Kubernetes adds to every pod beside a service named tasker or
// tasker-something. They are no typing error of the user, so they are ignored.
var serviceLink = regexp.MustCompile(`^TASKER_(.*_)?(SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_(TCP|UDP|SCTP)(_.*)?)?)$`)

// loadEnv reads the TASKER_ variables.
func (l *loader) loadEnv(environ []string) {
	values := map[string]string{}
	for _, variable := range environ {
		name, text, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, envPrefix) && text != "" && !reserved(name) && !serviceLink.MatchString(name) {
			values[name] = text
		}
	}
	paths := map[string]string{"TASKER_DB": "db.dsn"}
	for _, s := range l.settings {
		paths[envName(s.path)] = s.path
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		setting, known := l.known(paths[name])
		if !known {
			l.unknownVariable(name)
			continue
		}
		l.setText(setting, values[name], Origin{"env", name})
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

// setText sets a value given as text, by a variable or a flag. Text stays text where the setting is text;
// elsewhere it is parsed as YAML, so that a list can be given as [{name: a}].
func (l *loader) setText(s leaf, text string, from Origin) {
	value := document.NewText(text)
	switch kind := s.field.Kind(); {
	case kind == reflect.String, s.field.Type() == durationType:
	case kind == reflect.Bool:
		if b, err := strconv.ParseBool(strings.TrimSpace(text)); err == nil {
			value = &document.Node{Kind: document.Boolean, Text: strconv.FormatBool(b)}
		}
	default:
		before := len(l.problems)
		value = document.Parse([]byte(text), document.Options{
			What: "the value", Limits: limits,
			Report: func(_ document.Position, message string) { l.problem(from.Place, "%s: %s", s.path, message) },
		})
		if len(l.problems) > before {
			return
		}
		if value == nil {
			value = &document.Node{Kind: document.Null}
		}
	}
	l.set(s.path, value, from)
}
