// Package brokerurl reads the common parameters of broker URLs, including TLS. No error contains a URL: after a typing
// error any part of it may be the password.
package brokerurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of URL of a broker.
type Kind struct {
	Broker string
	Scheme string // without TLS; an s at the end means TLS
	// Malformed is the error of a text that is no such URL, with an example.
	Malformed error
	// Parameters are those of every URL, besides connection_timeout and those of TLS. An unknown one is an error: a
	// client would ignore a misspelt option.
	Parameters []string
}

// URL is a parsed URL.
type URL struct {
	*url.URL
	Own   url.Values // parameters of the caller
	Query url.Values

	kind *Kind
}

const timeout = "connection_timeout"

// ofTLS are only valid with TLS.
var ofTLS = []string{"cacertfile", "certfile", "keyfile", "server_name_indication", "verify"}

// Parse reads a URL. own names the caller's parameters.
func (k *Kind) Parse(text string, own ...string) (*URL, error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Scheme != k.Scheme && parsed.Scheme != k.Scheme+"s" ||
		strings.Contains(text, " ") {
		return nil, k.Malformed
	}
	query, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return nil, k.Malformed
	}
	u := &URL{URL: parsed, Own: url.Values{}, Query: query, kind: k}
	all := slices.Concat(k.Parameters, ofTLS, []string{timeout})
	for name, values := range query {
		switch {
		case slices.Contains(own, name):
			u.Own[name] = values
			query.Del(name)
		case !slices.Contains(all, name):
			return nil, fmt.Errorf("the URL of %s has a parameter that there is not; there are %q", k.Broker,
				slices.Sorted(slices.Values(slices.Concat(own, all))))
		case !u.secure() && slices.Contains(ofTLS, name):
			return nil, fmt.Errorf("the URL of %s has the parameter %s, which goes with %ss:// only", k.Broker, name,
				k.Scheme)
		}
	}
	return u, nil
}

func (u *URL) secure() bool { return u.Scheme != u.kind.Scheme }

// Timeout bounds the connecting.
func (u *URL) Timeout(otherwise time.Duration) (time.Duration, error) {
	if !u.Query.Has(timeout) {
		return otherwise, nil
	}
	ms, err := strconv.Atoi(u.Query.Get(timeout))
	if err != nil || ms < 1 || ms > 600_000 {
		return 0, fmt.Errorf("%s in the URL of %s must be 1 to 600000 milliseconds", timeout, u.kind.Broker)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// TLS reads the parameters of TLS and their files, and removes them from Query. The result is nil without TLS.
// serverName is the default name to check; "" is the dialled server.
func (u *URL) TLS(serverName string) (*tls.Config, error) {
	if !u.secure() {
		return nil, nil
	}
	get := func(name string) string {
		value := u.Query.Get(name)
		u.Query.Del(name)
		return value
	}
	broker := u.kind.Broker
	c := &tls.Config{ServerName: serverName, MinVersion: tls.VersionTLS12}
	if name := get("server_name_indication"); name != "" {
		c.ServerName = name
	}
	switch get("verify") {
	case "", "verify_peer":
	case "verify_none":
		c.InsecureSkipVerify = true
	default:
		return nil, fmt.Errorf("verify in the URL of %s must be verify_peer or verify_none", broker)
	}
	var err error
	if file := get("cacertfile"); file != "" {
		if c.RootCAs, err = Authorities(broker, "cacertfile", file); err != nil {
			return nil, err
		}
	}
	cert, key := get("certfile"), get("keyfile")
	if (cert == "") != (key == "") {
		return nil, errors.New("the URL of " + broker + " must have both certfile and keyfile, or neither")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read certfile and keyfile of the URL of %s: %w", broker, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Authorities reads the trusted certificates from the file of a parameter.
func Authorities(broker, parameter, file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificates that the URL of %s names with %s: %w", broker, parameter, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the file %s, which the URL of %s names with %s, has no certificate in PEM", file, broker,
			parameter)
	}
	return pool, nil
}
