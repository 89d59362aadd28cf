package carrier

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/taskerhq/tasker/internal/broker"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	http, broker := &deadletter.Source{Namespace: "n"}, &deadletter.Source{Namespace: "n", URL: "redis://a"}
	seen := map[place]bool{}
	for i := range 5000 { // more than a table of checksums keeps apart
		seen[placeOf(http, fmt.Sprintf("https://host%d/x", i))] = true
	}
	for _, of := range []place{
		placeOf(http, "http://host1/x"),
		placeOf(&deadletter.Source{Namespace: "m"}, "https://host1/x"),
		placeOf(broker, "q"),
		placeOf(&deadletter.Source{Namespace: "m", URL: "redis://a"}, "q"),
		placeOf(&deadletter.Source{Namespace: "n", URL: "redis://b"}, "q"),
	} {
		if seen[of] {
			t.Errorf("%+v is the place of another one", of)
		}
		seen[of] = true
	}
	if placeOf(http, "https://host1/x") != placeOf(http, "https://host1/y") ||
		placeOf(broker, "q") != placeOf(broker, "r") {
		t.Error("one host, or one broker, has two places")
	}
}

// The least recently used idle target is closed.
func TestTargetsAreBounded(t *testing.T) {
	t.Parallel()
	all := targets{byPlace: map[place]*entry{}}
	open := func() *broker.Target {
		return broker.NewTarget(func(context.Context) (driver.Driver, error) { return nil, errors.New("none") }, nil)
	}
	at := func(i int) place { return place{host: fmt.Sprint(i)} }
	first, done := all.take(at(0), open)
	for i := 1; i <= 2*kept; i++ {
		_, done := all.take(at(i), open)
		done()
	}
	if n := len(all.byPlace); n != kept {
		t.Errorf("%d targets are kept, want %d", n, kept)
	}
	if again, done := all.take(at(0), open); again != first {
		t.Error("a target in use was closed")
	} else {
		done()
	}
	if all.byPlace[at(2*kept)] == nil || all.byPlace[at(1)] != nil {
		t.Error("the target that was not used for longest is kept")
	}
	done()
	if err := all.close(); err != nil {
		t.Error(err)
	}
}
