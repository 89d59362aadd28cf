package typegen

import (
	"fmt"
	"strings"
)

// TypeScriptOperations writes a module with a method for each operation.
func TypeScriptOperations(document []byte) ([]byte, error) {
	all, err := operations(document)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(`// The operations of the HTTP API that need no more than a request. They are generated from the OpenAPI document of the
// server: run "make models" instead of editing them.

import { pathOf, type CallOptions, type Query } from "./http.js";
import type * as models from "./models.js";

/** A method for each operation. What lists reads page by page. */
export abstract class Operations {
  /** Send any request of the API. */
  abstract call<T = unknown>(method: string, path: string, options?: CallOptions): Promise<T>;

  async *#pages<T>(path: string, query: Query, items: string, next: string): AsyncGenerator<T, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page: Record<string, unknown> = await this.call("GET", path, { query: { ...query, cursor } });
      yield* page[items] as T[];
      cursor = page[next] as string | undefined;
      if (!cursor) return;
    }
  }
`)
	for i := range all {
		all[i].typescript(&b)
	}
	b.WriteString("}\n")
	return []byte(b.String()), nil
}

func (op *operation) typescript(b *strings.Builder) {
	l := typescript
	l.prefix, l.time = "models.", "string | Date"
	var parameters, call []string
	for _, name := range op.segments {
		parameters = append(parameters, camel(name)+": string")
	}
	if op.body != nil {
		optional := "?"
		if op.needsBody {
			optional = ""
		}
		parameters, call = append(parameters, "body"+optional+": "+l.write(op.body)), append(call, "body")
	}
	if len(op.query) > 0 {
		fields, given := "", " = {}"
		for _, f := range op.query {
			optional, of := "?", strings.NewReplacer("Array<string>", "readonly string[]").Replace(l.write(&f.of))
			if f.required {
				optional, given = "", ""
			}
			fields += fmt.Sprintf("      %s%s: %s;\n", f.name, optional, of)
		}
		parameters, call = append(parameters, "query: {\n"+fields+"    }"+given), append(call, "query")
	}
	b.WriteString("\n")
	comment(b, "  ", op.summary+".")
	fmt.Fprintf(b, "  %s(", camel(op.id))
	if len(parameters) > 0 {
		fmt.Fprintf(b, "\n    %s,\n  ", strings.Join(parameters, ",\n    "))
	}
	path := op.typescriptPath()
	if op.page.items != "" {
		if len(op.query) == 0 {
			call = []string{"{}"}
		}
		fmt.Fprintf(b, "): AsyncGenerator<%s, void, undefined> {\n    return this.#pages(%s, %s, %q, %q);\n  }\n",
			l.write(&op.page.of), path, call[0], op.page.items, op.page.cursor)
		return
	}
	options := ""
	if len(call) > 0 {
		options = ", { " + strings.Join(call, ", ") + " }"
	}
	fmt.Fprintf(b, "): Promise<%s> {\n    return this.call(%q, %s%s);\n  }\n", l.write(&op.answer), op.method, path, options)
}

func (op *operation) typescriptPath() string {
	if len(op.segments) == 0 {
		return fmt.Sprintf("%q", op.path)
	}
	var parts []string
	for _, part := range strings.Split(op.path, "/")[1:] {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parts = append(parts, camel(strings.TrimSuffix(name, "}")))
		} else {
			parts = append(parts, fmt.Sprintf("%q", part))
		}
	}
	return "pathOf(" + strings.Join(parts, ", ") + ")"
}
