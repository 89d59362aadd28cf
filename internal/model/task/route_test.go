package task_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestServes(t *testing.T) {
	t.Parallel()
	route := task.Route{Namespace: "shop", Handler: "charge", Capabilities: []string{"gpu", "pci"}}
	plain := task.Route{Namespace: "shop", Handler: "charge"}
	for _, c := range []struct {
		name   string
		worker task.Worker
		route  task.Route
		want   bool
	}{
		{"AllWithCapabilities", task.Worker{Capabilities: []string{"fast", "gpu", "pci"}}, route, true},
		{"ExactlyNamed", task.Worker{Namespaces: []string{"a", "shop"}, Handlers: []string{"charge"},
			Capabilities: []string{"gpu", "pci"}}, route, true},
		{"LacksOneCapability", task.Worker{Capabilities: []string{"gpu"}}, route, false},
		{"LacksAllCapabilities", task.Worker{}, route, false},
		{"NeedsNone", task.Worker{}, plain, true},
		{"HasMoreThanNeeded", task.Worker{Capabilities: []string{"gpu"}}, plain, true},
		{"OtherNamespace", task.Worker{Namespaces: []string{"bank"}}, plain, false},
		{"OtherHandler", task.Worker{Handlers: []string{"refund"}}, plain, false},
		{"NamespaceIsNotAPrefix", task.Worker{Namespaces: []string{"sho", "shop2"}}, plain, false},
		{"CaseMatters", task.Worker{Handlers: []string{"Charge"}}, plain, false},
	} {
		if got := c.worker.Serves(c.route); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	given := []string{"b", "a", "b", "c", "a"}
	if diff := cmp.Diff([]string{"a", "b", "c"}, task.Capabilities(given)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "a", "b", "c", "a"}, given); diff != "" {
		t.Errorf("the argument was changed (-want +got):\n%s", diff)
	}
	if got := task.Capabilities(nil); got != nil {
		t.Errorf("no capabilities are %#v, want nil", got)
	}
}

func TestCapabilityKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := task.Capabilities(rapid.SliceOf(rapid.StringMatching(`[a-z:é ]{1,8}`)).Draw(t, "set"))
		r := task.Route{Capabilities: set}
		back := task.SplitCapabilities(r.CapabilityKey())
		if len(set) == 0 && back == nil {
			return
		}
		if diff := cmp.Diff(set, back); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	inner := task.Errorf(task.StaleToken, "token %d", 3)
	for _, c := range []struct {
		name string
		err  error
		want task.Code
	}{
		{"Nil", nil, ""},
		{"Own", inner, task.StaleToken},
		{"Wrapped", fmt.Errorf("settle: %w", inner), task.StaleToken},
		{"Foreign", errors.New("disk"), task.Internal},
	} {
		if got := task.CodeOf(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	cause := errors.New("disk")
	e := &task.Error{Code: task.Invalid, Message: "bad", Err: cause,
		Problems: []task.Problem{{Location: "/a", Message: "x"}, {Message: "y"}}}
	if got, want := e.Error(), "bad; /a: x; y"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if !errors.Is(e, cause) {
		t.Error("the cause is not unwrapped")
	}
}
