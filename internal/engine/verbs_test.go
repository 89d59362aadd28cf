package engine_test

import (
	"reflect"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
)

// A verb of two rooms would be a verb of neither: Go promotes no ambiguous name, and says so only where it is used.
func TestVerbsOfAllRooms(t *testing.T) {
	t.Parallel()
	whole := reflect.TypeFor[*engine.Engine]()
	for i := range whole.Elem().NumField() {
		room := whole.Elem().Field(i)
		if !room.Anonymous {
			t.Errorf("%s is no room: the engine has no state besides", room.Name)
		}
		for j := range room.Type.NumMethod() {
			if name := room.Type.Method(j).Name; !has(whole, name) {
				t.Errorf("the engine has no %s, although its room %s has: another room has it too", name, room.Name)
			}
		}
	}
}

func has(whole reflect.Type, name string) bool {
	_, ok := whole.MethodByName(name)
	return ok
}
