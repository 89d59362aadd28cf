package typegen

import (
	"fmt"
	"slices"
	"strings"
)

// PythonOperations writes a module with a method for each operation, for threads and for asyncio.
func PythonOperations(document []byte) ([]byte, error) {
	all, err := operations(document)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(`"""The operations of the HTTP API that need no more than a request.

They are generated from the OpenAPI document of the server: run "make models" instead of editing them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, cast

from . import models
from ._async import asynchronous, listed
from ._http import QueryValue, path_of


class Operations:
    """A method for each operation. None is left out; what lists reads page by page."""

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue] | None = None,
        body: Any = None,
    ) -> Any:
        """Send any request of the API."""
        raise NotImplementedError

    def _pages(self, path: str, query: Mapping[str, QueryValue], items: str, cursor: str) -> Iterator[Any]:
        query = dict(query)
        while True:
            page = self.call("GET", path, query=query)
            yield from page[items]
            if not page.get(cursor):
                return
            query["cursor"] = page[cursor]
`)
	for i := range all {
		all[i].python(&b)
	}
	b.WriteString("\n\nclass AsyncOperations:\n    \"\"\"The same methods, to be awaited. Lists are whole.\"\"\"\n\n")
	for i := range all {
		method := "Operations." + all[i].snake()
		if all[i].page.items != "" {
			method = "listed(" + method + ")"
		}
		fmt.Fprintf(&b, "    %s = asynchronous(%s)\n", all[i].snake(), method)
	}
	return []byte(b.String()), nil
}

// snake writes the name as Python has it.
func (op *operation) snake() string { return strings.ReplaceAll(op.id, "-", "_") }

func pythonName(key string) string {
	if slices.Contains(pythonKeywords, key) {
		return key + "_"
	}
	return key
}

func (op *operation) python(b *strings.Builder) {
	l := python
	l.prefix, l.time = "models.", "datetime | str"
	answer := l.write(&op.answer)
	fmt.Fprintf(b, "\n    def %s(\n        self,\n", op.snake())
	for _, name := range op.segments {
		fmt.Fprintf(b, "        %s: str,\n", name)
	}
	var call []string
	switch {
	case op.body != nil && op.needsBody:
		fmt.Fprintf(b, "        body: %s,\n", l.write(op.body))
	case op.body != nil:
		fmt.Fprintf(b, "        body: %s | None = None,\n", l.write(op.body))
	}
	if len(op.query) > 0 {
		b.WriteString("        *,\n")
		call = append(call, "query=query")
	}
	for _, f := range op.query {
		of := strings.ReplaceAll(l.write(&f.of), "list[", "Sequence[")
		if f.required {
			fmt.Fprintf(b, "        %s: %s,\n", pythonName(f.name), of)
			continue
		}
		fmt.Fprintf(b, "        %s: %s | None = None,\n", pythonName(f.name), of)
	}
	result := answer
	if op.page.items != "" {
		result = "Iterator[" + l.write(&op.page.of) + "]"
	}
	fmt.Fprintf(b, "    ) -> %s:\n        \"\"\"%s.\"\"\"\n", result, op.summary)
	path := op.pythonPath()
	if len(op.query) > 0 {
		b.WriteString("        query: dict[str, QueryValue] = {\n")
		for _, f := range op.query {
			fmt.Fprintf(b, "            %q: %s,\n", f.name, pythonName(f.name))
		}
		b.WriteString("        }\n")
	} else if op.page.items != "" {
		b.WriteString("        query: dict[str, QueryValue] = {}\n")
	}
	if op.page.items != "" {
		fmt.Fprintf(b, "        return self._pages(%s, query, %q, %q)\n", path, op.page.items, op.page.cursor)
		return
	}
	if op.body != nil {
		call = append(call, "body=body")
	}
	arguments := strings.Join(append([]string{fmt.Sprintf("%q", op.method), path}, call...), ", ")
	fmt.Fprintf(b, "        return cast(%q, self.call(%s))\n", answer, arguments)
}

// pythonPath returns the expression of the path.
func (op *operation) pythonPath() string {
	if len(op.segments) == 0 {
		return fmt.Sprintf("%q", op.path)
	}
	var parts []string
	for _, part := range strings.Split(op.path, "/")[1:] {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parts = append(parts, strings.TrimSuffix(name, "}"))
		} else {
			parts = append(parts, fmt.Sprintf("%q", part))
		}
	}
	return "path_of(" + strings.Join(parts, ", ") + ")"
}
