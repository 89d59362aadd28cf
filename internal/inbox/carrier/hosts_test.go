package carrier_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/post"
	"github.com/taskerhq/tasker/internal/inbox/carrier"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// A host that is down opens only its own circuit breaker. A letter was not tried if the breaker is open.
func TestHostsApart(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer up.Close()
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	c := carrier.New(driver.Registry{"http": post.Dial}, "http")
	defer c.Close()
	source := &deadletter.Source{Name: "app", Driver: "http"}
	send := func(to string) error {
		return c.Send(t.Context(), source, to, []seam.Outgoing{{Letter: &deadletter.Letter{}}})[0]
	}
	tried := 0
	var err error
	for range 5 {
		if err = send(down.URL + "/x"); err == nil {
			t.Fatal("a host that is down has taken a letter")
		} else if errors.Is(err, seam.ErrNotTried) {
			break
		}
		tried++
	}
	if tried == 0 || !errors.Is(err, seam.ErrNotTried) {
		t.Errorf("after %d tries: %v", tried, err)
	}
	if err := send(up.URL + "/x"); err != nil {
		t.Errorf("another host: %v", err)
	}
	other := &deadletter.Source{Namespace: "other", Name: "app", Driver: "http"}
	errs := c.Send(t.Context(), other, down.URL+"/x", []seam.Outgoing{{Letter: &deadletter.Letter{}}})
	if errs[0] == nil || errors.Is(errs[0], seam.ErrNotTried) {
		t.Errorf("another namespace: %v, want that it is tried", errs[0])
	}
}
