package rabbittest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

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
	a := newAuthority(t, in("ca.pem"))
	a.issue(t, 2, "127.0.0.1", in("server.pem"), in("server-key.pem"))
	a.issue(t, 3, "client", in("client.pem"), in("client-key.pem"))
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

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes an authority and writes its certificate.
func newAuthority(t testing.TB, file string) *authority {
	t.Helper()
	a := &authority{key: newKey(t), cert: &x509.Certificate{SerialNumber: big.NewInt(1),
		Subject: pkix.Name{CommonName: "rabbittest"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, file, "CERTIFICATE", der)
	return a
}

// issue writes a certificate and its key. A name that is an address is one of a server.
func (a *authority) issue(t testing.TB, serial int64, name, certFile, keyFile string) {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses, template.DNSNames = []net.IP{ip}, []string{"localhost"}
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, certFile, "CERTIFICATE", der)
	writePEM(t, keyFile, "EC PRIVATE KEY", secret)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	content := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
