package cases

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// TestSnapshotIsWhatClientsRead compares the engine's JSON with the clients' types: names and forms of values.
func TestSnapshotIsWhatClientsRead(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]reflect.Type{
		"Snapshot": {reflect.TypeFor[snapshot](), reflect.TypeFor[operate.CaseSnapshot]()},
		"Step":     {reflect.TypeFor[snapshotStep](), reflect.TypeFor[operate.SnapshotStep]()},
		"Failure":  {reflect.TypeFor[snapshotFailure](), reflect.TypeFor[tasker.Failure]()},
	} {
		written, read := members(pair[0]), members(pair[1])
		if !slices.Equal(written, read) {
			t.Errorf("%s: the engine writes\n%q\nand clients read\n%q", name, written, read)
		}
	}
}

func members(of reflect.Type) []string {
	var list []string
	for i := range of.NumField() {
		f := of.Field(i)
		// Readers ignore omitempty.
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			list = append(list, name+" "+form(f.Type))
		}
	}
	slices.Sort(list)
	return list
}

func form(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "anything"
	case strings.HasPrefix(t.Name(), "Time"), t.Name() == "Priority", t.Kind() == reflect.Array,
		t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Float64:
		return "number"
	}
	return t.Kind().String()
}
