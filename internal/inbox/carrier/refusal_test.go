package carrier_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/redis"
	"github.com/taskerhq/tasker/internal/inbox/carrier"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// The error has the words of Redis, without the password of the source.
func TestBrokerRefuses(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for user, rights := range map[string][]string{"keys": {"~mine*", "+@all"},
		"commands": {"~*", "+@all", "-llen", "-exists"}} {
		if _, err := redistest.Do(s.URL(), append([]string{"ACL", "SETUSER", user, "on", ">hunter22", "resetkeys"},
			rights...)...); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(user, "hunter22")
		for name, open := range map[string]driver.OpenFunc{"list": redis.OpenLists, "stream": redis.OpenStreams} {
			c := carrier.New(driver.Registry{name: open}, name)
			defer c.Close()
			source := &deadletter.Source{Name: "app", Driver: name, URL: u.String(), Queue: "theirs"}
			_, depth := c.Depth(t.Context(), source)
			_, exists := c.Exists(t.Context(), source, "theirs")
			for _, err := range []error{depth, exists} {
				if !errors.Is(err, seam.ErrRefused) || strings.Contains(err.Error(), "hunter22") ||
					!strings.Contains(err.Error(), "permission") && !strings.Contains(err.Error(), "can't run this command") {
					t.Errorf("%s, %s: %v", user, name, err)
				}
			}
		}
	}
}
