package typegen

import (
	"fmt"
	"strings"
)

var typescript = language{
	any: "unknown", text: "string", time: "Timestamp", integer: "number", number: "number", boolean: "boolean",
	null:    "null",
	literal: func(values []string) string { return strings.Join(values, " | ") },
	list:    func(of string) string { return "Array<" + of + ">" },
	object:  func(of string) string { return "Record<string, " + of + ">" },
}

// TypeScript writes a module with an interface for each schema.
func TypeScript(document []byte) ([]byte, error) {
	all, err := models(document)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(`// The objects of the HTTP API. They are generated from the OpenAPI document of the server: run "make models" instead of
// editing them.

/** A time as JSON has it, such as "2026-11-26T09:00:00Z". */
export type Timestamp = string;
`)
	for i := range all {
		all[i].typescript(&b)
	}
	return []byte(b.String()), nil
}

func (m *model) typescript(b *strings.Builder) {
	b.WriteString("\n")
	comment(b, "", m.doc)
	fmt.Fprintf(b, "export interface %s {\n", m.name)
	for _, f := range m.fields {
		comment(b, "  ", f.doc)
		name, optional := f.name, "?"
		if !plainName.MatchString(name) {
			name = fmt.Sprintf("%q", name)
		}
		if f.required {
			optional = ""
		}
		fmt.Fprintf(b, "  %s%s: %s;\n", name, optional, m.languageOf(&typescript, " | Date").write(&f.of))
	}
	b.WriteString("}\n")
}

func comment(b *strings.Builder, indent, text string) {
	lines := wrap(strings.ReplaceAll(text, "*/", "* /"), maxLine-len(indent)-7)
	switch len(lines) {
	case 0:
	case 1:
		fmt.Fprintf(b, "%s/** %s */\n", indent, lines[0])
	default:
		fmt.Fprintf(b, "%s/**\n%s * %s\n%s */\n", indent, indent, strings.Join(lines, "\n"+indent+" * "), indent)
	}
}
