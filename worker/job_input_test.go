package worker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

type item struct {
	Price int `json:"price"`
}

type basket struct {
	Customer struct {
		ID string `json:"id"`
	} `json:"customer"`
	Items  []item           `json:"items"`
	ByName map[string][]int `json:"by_name"`
}

// TestContext: a misfit is final, and the failure points to it.
func TestContext(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		context string
		pointer string // "": it fits
	}{
		"Fits":         {`{"customer": {"id": "c"}, "items": [{"price": 1}]}`, ""},
		"None":         {``, ""},
		"Scalar":       {`{"customer": {"id": 7}}`, "/context/customer/id"},
		"Element":      {`{"items": [{"price": 1}, {"price": 2}, {"price": "x"}], "customer": {}}`, "/context/items/2/price"},
		"Fraction":     {`{"items": [{"price": 1.5}]}`, "/context/items/0/price"},
		"ObjectFor":    {`{"items": [{"other": [[1], {"a": 2}], "price": {"a": 1}}]}`, "/context/items/0/price"},
		"ArrayFor":     {`{ "customer" : [ 1 ] }`, "/context/customer"},
		"EscapedKey":   {`{"by_name": {"a": [1], "b/~c": [1, 2, true]}}`, "/context/by_name/b~1~0c/2"},
		"Whole":        {`[1, 2]`, "/context"},
		"WholeScalar":  {`"x"`, "/context"},
		"AfterUnknown": {`{"unknown": {"price": "x"}, "items": [{"price": false}]}`, "/context/items/0/price"},
		"NotJSON":      {`{"customer": `, "/context"},
	} {
		job := &worker.Job{Assignment: protocol.Assignment{StepName: "pay", Parameters: json.RawMessage(tc.context)}}
		_, err := worker.Context[basket](job)
		if (err == nil) != (tc.pointer == "") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			failsAt(t, name, fmt.Errorf("wrapped: %w", err), tc.pointer)
		}
	}
}

func failsAt(t *testing.T, name string, err error, pointer string) {
	t.Helper()
	var f *tasker.Failure
	if !errors.As(err, &f) || f.Type != "invalid_input" || string(f.Details) != fmt.Sprintf(`{"pointer":%q}`, pointer) {
		t.Errorf("%s: %v carries %+v, want the pointer %s", name, err, f, pointer)
	}
}

func TestParentResult(t *testing.T) {
	t.Parallel()
	job := &worker.Job{Assignment: protocol.Assignment{StepName: "ship", ParentResults: map[string]json.RawMessage{
		"pay": json.RawMessage(`{"price": 3}`), "null": json.RawMessage(`null`), "a/b": json.RawMessage(`{"price": "x"}`),
	}}}
	if got, err := worker.ParentResult[item](job, "pay"); err != nil || got.Price != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, name := range []string{"none", "null"} {
		if _, err := worker.ParentResult[item](job, name); tasker.ErrorCode(err) != tasker.CodeNotFound {
			t.Errorf("%s: %v, want CodeNotFound", name, err)
		}
	}
	_, err := worker.ParentResult[item](job, "a/b")
	failsAt(t, "a/b", err, "/parent_results/a~1b/price")
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		t.Errorf("%v hides its cause", err)
	}
}

type tree struct {
	V int             `json:"v"`
	L []tree          `json:"l,omitempty"`
	M map[string]tree `json:"m,omitempty"`
}

func randomTree(r *rand.Rand, depth int, at string, values map[string]map[string]any) map[string]any {
	node := map[string]any{"v": r.IntN(1000), "unknown": []any{"x", map[string]any{"v": "y"}}}
	values[at+"/v"] = node
	if depth == 0 {
		return node
	}
	var list []any
	for i := range r.IntN(4) {
		list = append(list, randomTree(r, depth-1, fmt.Sprint(at, "/l/", i), values))
	}
	members := map[string]any{}
	for _, key := range []string{"a", "b/c", "~", "é \"x\""}[:r.IntN(5)] {
		escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		members[key] = randomTree(r, depth-1, at+"/m/"+escaped, values)
	}
	node["l"], node["m"] = list, members
	return node
}

// TestContextPointsAnywhere: in any document, the pointer leads to the one value that does not fit.
func TestContextPointsAnywhere(t *testing.T) {
	t.Parallel()
	wrong := []any{"text", true, 1.5, []any{1}, map[string]any{"v": 1}, map[string]any{}, []any{}}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		values := map[string]map[string]any{}
		root := randomTree(r, 3, "/context", values)
		places := slices.Sorted(maps.Keys(values))
		place := places[r.IntN(len(places))]
		values[place]["v"] = wrong[r.IntN(len(wrong))]
		raw, err := json.MarshalIndent(root, "", strings.Repeat(" ", r.IntN(3)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = worker.Context[tree](&worker.Job{Assignment: protocol.Assignment{StepName: "s", Parameters: raw}})
		failsAt(t, fmt.Sprintf("seed %d in %s", seed, raw), err, place)
	}
}
