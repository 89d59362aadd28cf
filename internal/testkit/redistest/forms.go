package redistest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// StartTLS starts a server that speaks TLS on a second port. It returns that URL, and the file of the certificate to
// trust.
func StartTLS(t testing.TB, settings ...string) (server *Server, tlsURL, ca string) {
	t.Helper()
	c := testserver.NewCertificates(t)
	port, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	server = Start(t, append(settings, fmt.Sprintf("tls-port=%d", port), "tls-cert-file="+c.Server,
		"tls-key-file="+c.ServerKey, "tls-ca-cert-file="+c.CA, "tls-auth-clients=no")...)
	u, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Scheme, u.Host = "rediss", fmt.Sprintf("127.0.0.1:%d", port)
	return server, u.String(), c.CA
}

// StartCluster starts a cluster of one node with all slots.
func StartCluster(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := Start(t, append(settings, "cluster-enabled=yes")...)
	if _, err := Do(s.URL(), "CLUSTER", "ADDSLOTSRANGE", "0", "16383"); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(testserver.Patience); ; time.Sleep(20 * time.Millisecond) {
		info, err := Do(s.URL(), "CLUSTER", "INFO")
		if err == nil && strings.Contains(fmt.Sprint(info), "cluster_state:ok") {
			return s
		}
		if time.Now().After(until) {
			t.Fatalf("the cluster does not become ready: %v, %v", info, err)
		}
	}
}

// sentinelConfig is the configuration of a Sentinel; its master follows.
const sentinelConfig = `bind 127.0.0.1
port %d
dir %s
requirepass %s
daemonize no
logfile ""
`

// StartSentinel starts a Sentinel that watches a server as the master named main. It logs in there as user, with all
// permissions, who must exist on the replicas, too. It replaces a dead master after about a second.
func StartSentinel(t testing.TB, master *Server, user, password string) *Server {
	t.Helper()
	all, err := LaunchSentinels(1, master, user, password)
	testserver.OrSkip(t, err)
	all[0].server.CloseWith(t)
	return all[0]
}

// LaunchSentinels is StartSentinel without a test, for several that decide together and share a password: the caller
// closes them.
func LaunchSentinels(n int, master *Server, user, password string) ([]*Server, error) {
	own := rand.Text()
	var all []*Server
	for range n {
		s, err := launch(sentinelConfig, own, []string{
			fmt.Sprintf("sentinel=monitor main 127.0.0.1 %d %d", master.Port(), n/2+1),
			"sentinel=auth-user main " + user, "sentinel=auth-pass main " + password,
			"sentinel=down-after-milliseconds main 1000", "sentinel=failover-timeout main 5000"}, "--sentinel")
		if err != nil {
			for _, s := range all {
				err = errors.Join(err, s.Close())
			}
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
