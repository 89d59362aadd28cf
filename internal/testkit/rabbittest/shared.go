package rabbittest

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Variable names the shared server, by a URL like amqp://user:password@host:port/, of a user who may create virtual
// hosts.
const Variable = "TASKER_TEST_RABBITMQ"

// ManagementVariable names its HTTP API, if the port is not 10000 above the other: a URL like http://host:15672.
const ManagementVariable = "TASKER_TEST_RABBITMQ_MANAGEMENT"

// Shared returns the URL of a new virtual host on the shared server. It is deleted with its queues when t ends, and
// connections to it are closed. A test that stops the server or raises its alarms uses Start.
func Shared(t testing.TB) string {
	t.Helper()
	base := os.Getenv(Variable)
	if base == "" {
		s, err := shared()
		testserver.OrSkip(t, err)
		base = s.URL()
	}
	return NewVhost(t, base)
}

// NewVhost creates a virtual host until t ends, and returns its URL.
func NewVhost(t testing.TB, base string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	vhost := "test_" + strings.ToLower(rand.Text()[:12])
	u.Path = "/" + vhost
	Manage(t, base, http.MethodPut, "/api/vhosts/"+vhost, nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testserver.Patience)
		defer cancel()
		if _, err := call(ctx, base, http.MethodDelete, "/api/vhosts/"+vhost, nil); err != nil {
			t.Error(err)
		}
	})
	allow := map[string]string{"configure": ".*", "write": ".*", "read": ".*"}
	Manage(t, base, http.MethodPut, "/api/permissions/"+vhost+"/"+url.PathEscape(u.User.Username()), allow)
	return u.String()
}

// NewUser creates a user until t ends, with permissions on the virtual host of a URL: regular expressions for
// configure, write and read. It returns the user's URL.
func NewUser(t testing.TB, vhostURL, configure, write, read string) string {
	t.Helper()
	u, err := url.Parse(vhostURL)
	if err != nil {
		t.Fatal(err)
	}
	name, password := "user_"+strings.ToLower(rand.Text()[:12]), rand.Text()
	Manage(t, vhostURL, http.MethodPut, "/api/users/"+name, map[string]string{"password": password, "tags": ""})
	t.Cleanup(func() { Manage(t, vhostURL, http.MethodDelete, "/api/users/"+name, nil) })
	Manage(t, vhostURL, http.MethodPut, "/api/permissions/{vhost}/"+name,
		map[string]string{"configure": configure, "write": write, "read": read})
	u.User = url.UserPassword(name, password)
	return u.String()
}

// shared is the server of this process, started at first use. It is stopped when the process is gone, so no test closes
// it.
var shared = sync.OnceValues(func() (*Server, error) { return Launch() })
