package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/document"
)

const envPrefix = "TASKER_"

// plainVariables are the unprefixed variables of processors of dead-letter topics.
var plainVariables = map[string]string{
	"DLQ_MAX_RETRY_ATTEMPTS": "dlq.max_retry_attempts", "DLQ_RETRY_DELAY_HOURS": "dlq.retry_delay_hours",
	"DLQ_MAX_AGE_DAYS": "dlq.max_age_days", "DLQ_BATCH_SIZE": "dlq.batch_size",
}

// reserved variables have the prefix without being settings: the command line or Tasker's own tests read them.
func reserved(name string) bool {
	return name == "TASKER_SERVER" || name == "TASKER_API_KEY" || name == "TASKER_CONFIG" ||
		name == "TASKER_TRANSPORT" || strings.HasPrefix(name, "TASKER_TEST_")
}

// Kubernetes adds these variables to pods beside a service named tasker or tasker-something.
var serviceLink = regexp.MustCompile(`^TASKER_(.*_)?(SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_(TCP|UDP|SCTP)(_.*)?)?)$`)

// loadEnv reads the TASKER_ variables. An unknown one is an error, so that a misspelt limit is not ignored.
func (l *loader) loadEnv(environ []string) {
	values := map[string]string{}
	for _, variable := range environ {
		name, text, _ := strings.Cut(variable, "=")
		if plainVariables[name] != "" && text != "" {
			values[name] = text
		}
		if strings.HasPrefix(name, envPrefix) && text != "" && !reserved(name) && !serviceLink.MatchString(name) {
			values[name] = text
		}
	}
	paths := map[string]string{"TASKER_DB": "db.dsn"}
	for _, s := range l.settings {
		paths[envName(s.path)] = s.path
	}
	maps.Copy(paths, plainVariables)
	// Unprefixed names come first in this order, so that the others override them.
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

// setText sets a value from a variable or a flag. It parses YAML, such as the list [{name: a}], unless the setting
// is a text or a duration.
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
			Report: func(at document.Position, message string) {
				if slices.Contains(secretive, s.path) { // the message may repeat a part of the value
					message = fmt.Sprintf("is no YAML; see line %d, column %d", at.Line, at.Column)
				}
				l.problem(from.Place, "%s: %s", s.path, message)
			},
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
