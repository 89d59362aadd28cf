package typegen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxLine bounds generated lines.
const maxLine = 118

var python = language{
	any: "Any", text: "str", time: "Timestamp", integer: "int", number: "float", boolean: "bool", null: "None",
	literal: func(values []string) string { return "Literal[" + strings.Join(values, ", ") + "]" },
	list:    func(of string) string { return "list[" + of + "]" },
	object:  func(of string) string { return "dict[str, " + of + "]" },
}

// Python writes a module with a TypedDict for each schema.
func Python(document []byte) ([]byte, error) {
	all, err := models(document)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(`"""The objects of the HTTP API.

They are generated from the OpenAPI document of the server: run "make models" instead of editing them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

#: A time as JSON has it, such as "2026-11-26T09:00:00Z". datetime.fromisoformat reads it.
Timestamp = str
`)
	for i := range all {
		all[i].python(&b)
	}
	return []byte(b.String()), nil
}

// languageOf adapts a language to m: sent times may be the language's, too.
func (m *model) languageOf(l *language, native string) *language {
	own := *l
	if m.sent {
		own.time += native
	}
	return &own
}

// plainName is a key that needs no quotes.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pythonKeywords are those that may occur as keys.
var pythonKeywords = []string{"class", "from", "import", "in", "is", "not", "or", "and", "if", "for", "while", "with",
	"as", "global", "lambda", "pass", "return", "try", "yield", "None", "True", "False", "async", "await", "del"}

func (m *model) python(b *strings.Builder) {
	call := slices.ContainsFunc(m.fields, func(f field) bool {
		return !plainName.MatchString(f.name) || slices.Contains(pythonKeywords, f.name)
	})
	if call {
		fmt.Fprintf(b, "\n\n%s = TypedDict(\n    %q,\n    {\n", m.name, m.name)
	} else {
		fmt.Fprintf(b, "\n\nclass %s(TypedDict):\n", m.name)
	}
	indent := "    "
	if call {
		indent += "    "
	}
	if !call && m.doc != "" {
		fmt.Fprintf(b, "    \"\"\"%s\"\"\"\n\n", strings.Join(wrap(m.doc, maxLine-10), "\n    "))
	}
	if len(m.fields) == 0 && !call {
		b.WriteString("    pass\n")
	}
	for _, f := range m.fields {
		for _, line := range wrap(f.doc, maxLine-len(indent)-3) {
			fmt.Fprintf(b, "%s#: %s\n", indent, line)
		}
		of := m.languageOf(&python, " | datetime").write(&f.of)
		if call {
			of = fmt.Sprintf("%q", strings.ReplaceAll(of, `"`, "'"))
		}
		if !f.required {
			of = "NotRequired[" + of + "]"
		}
		if call {
			fmt.Fprintf(b, "%s%q: %s,\n", indent, f.name, of)
			continue
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, f.name, of)
	}
	if call {
		b.WriteString("    },\n)\n")
	}
}
