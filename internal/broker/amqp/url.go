package amqp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/broker/brokerurl"
)

// Target is a parsed URL.
type Target struct {
	// Own are the caller's parameters.
	Own url.Values

	dial    string // without the parameters handled here
	timeout time.Duration
	tls     *tls.Config // nil: none
}

var kind = brokerurl.Kind{Broker: "RabbitMQ", Scheme: "amqp", Malformed: errors.New("the URL of RabbitMQ must look " +
	"like amqp://[USER:PASSWORD@]HOST[:PORT][/VHOST][?PARAMETERS], with special characters of the password and the " +
	"virtual host escaped"), Parameters: []string{"auth_mechanism", "channel_max", "heartbeat"}}

// Parse parses a URL. own names the caller's parameters. It reads the files of the URL and connects to nothing. No
// error contains the URL.
func Parse(text string, own ...string) (*Target, error) {
	u, err := kind.Parse(text, own...)
	if err != nil {
		return nil, err
	}
	t := &Target{Own: u.Own}
	if t.timeout, err = u.Timeout(30 * time.Second); err != nil {
		return nil, err
	}
	for name, high := range map[string]int{"heartbeat": 3600, "channel_max": 65535} {
		if n, err := strconv.Atoi(u.Query.Get(name)); u.Query.Has(name) && (err != nil || n < 0 || n > high) {
			return nil, fmt.Errorf("%s in the URL of RabbitMQ must be a number from 0 to %d", name, high)
		}
	}
	for _, mechanism := range u.Query["auth_mechanism"] {
		if !slices.Contains([]string{"plain", "amqplain", "external"}, strings.ToLower(mechanism)) {
			return nil, errors.New("auth_mechanism in the URL of RabbitMQ must be plain, amqplain or external")
		}
	}
	if t.tls, err = u.TLS(u.Hostname()); err != nil {
		return nil, err
	}
	u.RawQuery = u.Query.Encode()
	t.dial = u.String()
	return t, nil
}
