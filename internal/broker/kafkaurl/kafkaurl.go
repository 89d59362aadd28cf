// Package kafkaurl reads URLs of Kafka: brokers, TLS, SASL. It connects to nothing, and sets no policy.
package kafkaurl

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/brokerurl"
)

// Target is a parsed URL.
type Target struct {
	// Own are the caller's parameters.
	Own url.Values
	// Brokers are the seed brokers, as host:port.
	Brokers []string

	options []kgo.Opt
}

var kind = brokerurl.Kind{Broker: "Kafka", Scheme: "kafka", Malformed: errors.New("the URL of Kafka must look like " +
	"kafka://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][?PARAMETERS], or kafkas:// for TLS, with special characters " +
	"of the password escaped"), Parameters: []string{"client_id", "sasl", "scope", "token_file", "token_url"}}

// Parse parses a URL. own names the caller's parameters. It reads the certificate files of the URL, and connects to
// nothing. No error contains the URL.
func Parse(text string, own ...string) (*Target, error) {
	u, err := kind.Parse(text, own...)
	if err != nil {
		return nil, err
	}
	if u.Path != "" && u.Path != "/" {
		return nil, kind.Malformed
	}
	t := &Target{Own: u.Own}
	if t.Brokers, err = brokers(u.Host); err != nil {
		return nil, err
	}
	timeout, err := u.Timeout(10 * time.Second)
	if err != nil {
		return nil, err
	}
	name := "tasker"
	if u.Query.Has("client_id") {
		name = u.Query.Get("client_id")
	}
	t.options = []kgo.Opt{kgo.SeedBrokers(t.Brokers...), kgo.ClientID(name), kgo.DialTimeout(timeout),
		kgo.DisableClientMetrics()}
	secure, err := u.TLS("") // the client checks the name of the broker
	if err != nil {
		return nil, err
	}
	if secure != nil {
		t.options = append(t.options, kgo.DialTLSConfig(secure))
	}
	login, err := mechanism(u.User, u.Query)
	if err != nil {
		return nil, err
	}
	if login != nil {
		t.options = append(t.options, kgo.SASL(login))
	}
	return t, nil
}

// Client returns a client with the options of the URL and others. It connects on first use.
func (t *Target) Client(options ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(slices.Concat(t.options, options)...)
	if err != nil {
		return nil, fmt.Errorf("make a client of Kafka: %w", err)
	}
	return client, nil
}

func brokers(hosts string) ([]string, error) {
	var all []string
	for host := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "9092")
		}
		name, port, err := net.SplitHostPort(host)
		if n, bad := strconv.Atoi(port); err != nil || name == "" || bad != nil || n < 1 || n > 65535 {
			return nil, kind.Malformed
		}
		all = append(all, host)
	}
	return all, nil
}
