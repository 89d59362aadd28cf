package rabbittest

import (
	"fmt"
	"net"
	"net/url"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// TLS is a client's access to a server with TLS.
type TLS struct {
	URL  string // amqps://, without the files
	CA   string
	Cert string // files of a client's certificate and of its key
	Key  string
}

// StartTLS starts a server that also speaks TLS. With clientCert it requires client certificates.
func StartTLS(t testing.TB, clientCert bool) (*Server, TLS) {
	t.Helper()
	c := testserver.NewCertificates(t)
	port, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	verify := "{verify, verify_none}"
	if clientCert {
		verify = "{verify, verify_peer}, {fail_if_no_peer_cert, true}"
	}
	s := Start(t, fmt.Sprintf(`{ssl_listeners, [{"127.0.0.1", %d}]}`, port),
		fmt.Sprintf(`{ssl_options, [{cacertfile, "%s"}, {certfile, "%s"}, {keyfile, "%s"}, %s]}`,
			c.CA, c.Server, c.ServerKey, verify))
	// RabbitMQ opens this listener after the one that Start waits for.
	await.Until(t, "the listener of TLS", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Scheme, u.Host = "amqps", fmt.Sprintf("127.0.0.1:%d", port)
	return s, TLS{URL: u.String(), CA: c.CA, Cert: c.Client, Key: c.ClientKey}
}
