package archtest_test

import (
	"bytes"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// rooms are those of the inbox, from the ground up: a room imports only rooms that stand before it.
var rooms = []string{"desk", "seam", "webhooks", "sources", "letters", "groups", "outbox", "capture", "redrive",
	"replay", "compat", "tidy"}

func TestRoomsOfTheInbox(t *testing.T) {
	t.Parallel()
	const inbox = "internal/inbox/"
	found := 0
	for _, p := range packages(t) {
		room, below := strings.CutPrefix(p.short(), inbox)
		if !below || room == "carrier" {
			continue
		}
		at := slices.Index(rooms, room)
		if found++; at < 0 {
			t.Errorf("%s has no place in the order of the rooms", p.short())
		}
		for _, path := range p.Imports {
			other, is := strings.CutPrefix(short(path), inbox)
			if short(path)+"/" == inbox || is && slices.Index(rooms, other) >= at {
				t.Errorf("%s imports %s, which does not stand before it", p.short(), short(path))
			}
		}
	}
	if found != len(rooms) {
		t.Errorf("there are %d rooms, not %d", found, len(rooms))
	}
}

// TestRoomsStaySmall: what outgrows these bounds has two subjects.
func TestRoomsStaySmall(t *testing.T) {
	t.Parallel()
	const maxFields, maxMethods, maxRoom = 30, 60, 4000
	methods, lines := map[string]int{}, map[string]int{}
	for _, room := range rooms {
		eachFile(t, "internal/inbox/"+room, func(file string, f *ast.File) {
			ast.Inspect(f, func(n ast.Node) bool {
				switch d := n.(type) {
				case *ast.FuncDecl:
					if d.Recv != nil {
						methods[room+"."+receiver(d)]++
					}
				case *ast.TypeSpec:
					if of, ok := d.Type.(*ast.StructType); ok && of.Fields.NumFields() > maxFields {
						t.Errorf("%s: %s has %d fields", file, d.Name.Name, of.Fields.NumFields())
					}
					if of, ok := d.Type.(*ast.InterfaceType); ok {
						methods[room+"."+d.Name.Name] = of.Methods.NumFields()
					}
				}
				return true
			})
		})
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods", name, n)
		}
	}
	files(t, ".go", func(path string, content []byte) {
		if room, ok := strings.CutPrefix(path, "internal/inbox/"); ok && !strings.HasSuffix(path, "_test.go") {
			room, _, _ = strings.Cut(room, "/")
			lines[room] += bytes.Count(content, []byte("\n"))
		}
	})
	for _, room := range rooms {
		if n := lines[room]; n == 0 || n >= maxRoom {
			t.Errorf("%s has %d lines", room, n)
		}
	}
}
