package rabbittest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/testserver"
)

// TLS is what a client of a server with TLS needs.
type TLS struct {
	URL  string // amqps://, without the files
	CA   string // the file of the certificate that signed the others
	Cert string // files of a client's certificate and of its key
	Key  string
}

// StartTLS starts a server that speaks TLS as well. With clientCert it wants a certificate of its clients.
func StartTLS(t testing.TB, clientCert bool) (*Server, TLS) {
	t.Helper()
	dir, err := os.MkdirTemp("", "rabbittls") // the server may be another account, which cannot read t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	a := testserver.NewAuthority(t, in("ca.pem"))
	a.Issue(t, 2, "127.0.0.1", in("server.pem"), in("server-key.pem"))
	a.Issue(t, 3, "client", in("client.pem"), in("client-key.pem"))
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
			in("ca.pem"), in("server.pem"), in("server-key.pem"), verify))
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Scheme, u.Host = "amqps", fmt.Sprintf("127.0.0.1:%d", port)
	return s, TLS{URL: u.String(), CA: in("ca.pem"), Cert: in("client.pem"), Key: in("client-key.pem")}
}
