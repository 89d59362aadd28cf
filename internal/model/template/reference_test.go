package template_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/taskerhq/tasker/internal/checks/reference"
	"github.com/taskerhq/tasker/internal/model/template"
)

func TestReference(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, m := range template.Mappings() {
		var rows [][]string
		for _, k := range m.Keys {
			byDefault := k.Default
			if byDefault == "" {
				byDefault = "**required**"
			}
			rows = append(rows, []string{reference.Code(k.Name), k.Type, byDefault, k.Limits, k.Meaning})
		}
		title := reference.Code(m.What)
		if first, rest, ok := strings.Cut(m.What, " "); ok {
			title = string(unicode.ToUpper(rune(first[0]))) + first[1:] + " " + rest
		}
		head := []string{"Key", "Type", "Default", "Limits", "Meaning"}
		fmt.Fprintf(&b, "## %s\n\n%s\n", title, reference.Table(head, rows))
	}
	reference.Check(t, "template.md", b.String())
}

func TestEveryMappingIsRead(t *testing.T) {
	t.Parallel()
	inStep := "name: t\nversion: '1'\nsteps: [{name: a, handler: h, %s: {none_such: 1}}]\n"
	inTemplate := "name: t\nversion: '1'\nsteps: [{name: a, handler: h}]\n%s: {none_such: 1}\n"
	for _, m := range template.Mappings() {
		var source string
		switch m.What {
		case "a template":
			source = "none_such: 1\nname: t\nversion: '1'\nsteps: [{name: a, handler: h}]\n"
		case "a step":
			source = "name: t\nversion: '1'\nsteps: [{name: a, handler: h, none_such: 1}]\n"
		case "handler":
			source = "name: t\nversion: '1'\nsteps: [{name: a, handler: {callable: h, none_such: 1}}]\n"
		case "limits":
			source = "name: t\nversion: '1'\nsteps: [{name: a, handler: h, retry: {limits: {none_such: 1}}}]\n"
		case "lifecycle", "unique":
			source = fmt.Sprintf(inTemplate, m.What)
		default:
			source = fmt.Sprintf(inStep, m.What)
		}
		_, err := template.Parse("t.yaml", []byte(source), nil)
		if want := m.What + ` has no key "none_such"`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse says %v, want %s", err, want)
		}
	}
}
