package amqp

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

// Target is a parsed URL.
type Target struct {
	// Own are the parameters of the caller that the URL has.
	Own url.Values

	dial    string // the URL without the parameters that are handled here
	timeout time.Duration
	tls     *tls.Config // nil: none
}

// errURL does not quote the URL: after a typing error any part of it may be the password.
var errURL = errors.New("the URL of RabbitMQ must look like amqp://[USER:PASSWORD@]HOST[:PORT][/VHOST][?PARAMETERS], " +
	"with special characters of the password and the virtual host escaped")

// parameters are the permitted parameters of every URL. An unknown one is an error: a client that ignores it would
// connect without TLS options that were misspelt.
var parameters = []string{"auth_mechanism", "cacertfile", "certfile", "channel_max", "connection_timeout", "heartbeat",
	"keyfile", "server_name_indication", "verify"}

// ofTLS are those that go with amqps only.
var ofTLS = []string{"cacertfile", "certfile", "keyfile", "server_name_indication", "verify"}

// Parse parses a URL. own names the parameters that the caller has besides those of every URL. It reads the files that
// the URL names, and connects to nothing. No error contains the URL.
func Parse(text string, own ...string) (*Target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "amqp" && u.Scheme != "amqps" || strings.Contains(text, " ") {
		return nil, errURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errURL
	}
	t := &Target{Own: url.Values{}, timeout: 30 * time.Second}
	for name, values := range query {
		switch {
		case slices.Contains(own, name):
			t.Own[name] = values
			query.Del(name)
		case !slices.Contains(parameters, name):
			return nil, fmt.Errorf("the URL of RabbitMQ has a parameter that there is not; there are %q",
				slices.Sorted(slices.Values(slices.Concat(own, parameters))))
		case u.Scheme == "amqp" && slices.Contains(ofTLS, name):
			return nil, fmt.Errorf("the URL of RabbitMQ has the parameter %s, which goes with amqps:// only", name)
		}
	}
	if query.Has("connection_timeout") {
		ms, err := strconv.Atoi(query.Get("connection_timeout"))
		if err != nil || ms < 1 || ms > 600_000 {
			return nil, errors.New("connection_timeout in the URL of RabbitMQ must be 1 to 600000 milliseconds")
		}
		t.timeout = time.Duration(ms) * time.Millisecond
	}
	for name, high := range map[string]int{"heartbeat": 3600, "channel_max": 65535} {
		if n, err := strconv.Atoi(query.Get(name)); query.Has(name) && (err != nil || n < 0 || n > high) {
			return nil, fmt.Errorf("%s in the URL of RabbitMQ must be a number from 0 to %d", name, high)
		}
	}
	for _, mechanism := range query["auth_mechanism"] {
		if !slices.Contains([]string{"plain", "amqplain", "external"}, strings.ToLower(mechanism)) {
			return nil, errors.New("auth_mechanism in the URL of RabbitMQ must be plain, amqplain or external")
		}
	}
	if u.Scheme == "amqps" {
		if t.tls, err = tlsConfig(u.Hostname(), query); err != nil {
			return nil, err
		}
	}
	for _, name := range ofTLS {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	t.dial = u.String()
	return t, nil
}

// tlsConfig reads the parameters of TLS, and the files that they name.
func tlsConfig(host string, query url.Values) (*tls.Config, error) {
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if name := query.Get("server_name_indication"); name != "" {
		c.ServerName = name
	}
	switch query.Get("verify") {
	case "", "verify_peer":
	case "verify_none":
		c.InsecureSkipVerify = true
	default:
		return nil, errors.New("verify in the URL of RabbitMQ must be verify_peer or verify_none")
	}
	if file := query.Get("cacertfile"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the certificates that the URL of RabbitMQ names with cacertfile: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the file %s, which the URL of RabbitMQ names with cacertfile, has no certificate in PEM",
				file)
		}
	}
	cert, key := query.Get("certfile"), query.Get("keyfile")
	if (cert == "") != (key == "") {
		return nil, errors.New("the URL of RabbitMQ must have both certfile and keyfile, or neither")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read certfile and keyfile of the URL of RabbitMQ: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
