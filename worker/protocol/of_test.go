package protocol_test

import (
	"reflect"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestBackendWithoutWorkers(t *testing.T) {
	t.Parallel()
	b := reflect.ValueOf(protocol.Of(tasker.NewClient(struct{ tasker.Backend }{})))
	verbs := reflect.TypeFor[protocol.WorkerBackend]()
	for i := range verbs.NumMethod() {
		verb := b.MethodByName(verbs.Method(i).Name)
		var args []reflect.Value
		for in := range verb.Type().Ins() {
			args = append(args, reflect.Zero(in))
		}
		results := verb.Call(args)
		err, _ := results[len(results)-1].Interface().(error)
		if tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("%s answers %v, want a Backend that serves no workers", verbs.Method(i).Name, err)
		}
	}
}
