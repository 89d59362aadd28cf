// Package kafkaurl reads URLs of Kafka: brokers, TLS, SASL. It connects to nothing, and sets no policy.
package kafkaurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Target is a parsed URL.
type Target struct {
	// Own are the parameters of the caller that the URL has.
	Own url.Values
	// Brokers are the brokers that are asked first, as host:port.
	Brokers []string

	options []kgo.Opt
}

// errURL does not quote the URL: after a typing error any part of it may be the password.
var errURL = errors.New("the URL of Kafka must look like " +
	"kafka://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][?PARAMETERS], or kafkas:// for TLS, with special characters " +
	"of the password escaped")

// parameters are the permitted parameters of every URL. An unknown one is an error: a client that ignores it would
// connect without options that were misspelt.
var parameters = []string{"cacertfile", "certfile", "client_id", "connection_timeout", "keyfile", "sasl", "scope",
	"server_name_indication", "token_file", "token_url", "verify"}

// ofTLS are those that go with kafkas only.
var ofTLS = []string{"cacertfile", "certfile", "keyfile", "server_name_indication", "verify"}

// Parse parses a URL. own names the parameters that the caller has besides those of every URL. It reads the files of
// certificates that the URL names, and connects to nothing. No error contains the URL.
func Parse(text string, own ...string) (*Target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "kafka" && u.Scheme != "kafkas" || strings.Contains(text, " ") ||
		u.Path != "" && u.Path != "/" {
		return nil, errURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errURL
	}
	t := &Target{Own: url.Values{}}
	for name, values := range query {
		switch {
		case slices.Contains(own, name):
			t.Own[name] = values
		case !slices.Contains(parameters, name):
			return nil, fmt.Errorf("the URL of Kafka has a parameter that there is not; there are %q",
				slices.Sorted(slices.Values(slices.Concat(own, parameters))))
		case u.Scheme == "kafka" && slices.Contains(ofTLS, name):
			return nil, fmt.Errorf("the URL of Kafka has the parameter %s, which goes with kafkas:// only", name)
		}
	}
	if t.Brokers, err = brokers(u.Host); err != nil {
		return nil, err
	}
	timeout := 10 * time.Second
	if query.Has("connection_timeout") {
		ms, err := strconv.Atoi(query.Get("connection_timeout"))
		if err != nil || ms < 1 || ms > 600_000 {
			return nil, errors.New("connection_timeout in the URL of Kafka must be 1 to 600000 milliseconds")
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	name := "tasker"
	if query.Has("client_id") {
		name = query.Get("client_id")
	}
	t.options = []kgo.Opt{kgo.SeedBrokers(t.Brokers...), kgo.ClientID(name), kgo.DialTimeout(timeout),
		kgo.DisableClientMetrics()}
	if u.Scheme == "kafkas" {
		c, err := tlsConfig(query)
		if err != nil {
			return nil, err
		}
		t.options = append(t.options, kgo.DialTLSConfig(c))
	}
	login, err := mechanism(u, query)
	if err != nil {
		return nil, err
	}
	if login != nil {
		t.options = append(t.options, kgo.SASL(login))
	}
	return t, nil
}

// Client returns a client. Options are added to those of the URL. It connects when it is used.
func (t *Target) Client(options ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(slices.Concat(t.options, options)...)
	if err != nil {
		return nil, fmt.Errorf("make a client of Kafka: %w", err)
	}
	return client, nil
}

// brokers splits the host of a URL.
func brokers(hosts string) ([]string, error) {
	var all []string
	for host := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "9092")
		}
		name, port, err := net.SplitHostPort(host)
		if n, bad := strconv.Atoi(port); err != nil || name == "" || bad != nil || n < 1 || n > 65535 {
			return nil, errURL
		}
		all = append(all, host)
	}
	return all, nil
}

// tlsConfig reads the parameters of TLS, and the files that they name.
func tlsConfig(query url.Values) (*tls.Config, error) {
	// Without a name the client checks that of the broker that it connects to.
	c := &tls.Config{ServerName: query.Get("server_name_indication"), MinVersion: tls.VersionTLS12}
	switch query.Get("verify") {
	case "", "verify_peer":
	case "verify_none":
		c.InsecureSkipVerify = true
	default:
		return nil, errors.New("verify in the URL of Kafka must be verify_peer or verify_none")
	}
	if file := query.Get("cacertfile"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the certificates that the URL of Kafka names with cacertfile: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the file %s, which the URL of Kafka names with cacertfile, has no certificate in PEM", file)
		}
	}
	cert, key := query.Get("certfile"), query.Get("keyfile")
	if (cert == "") != (key == "") {
		return nil, errors.New("the URL of Kafka must have both certfile and keyfile, or neither")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read certfile and keyfile of the URL of Kafka: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
