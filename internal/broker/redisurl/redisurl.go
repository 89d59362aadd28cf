// Package redisurl reads the URLs by which Tasker connects to Redis, for the dispatcher and for brokers of dead letters
// alike. It connects to nothing.
//
//	redis://[USER:PASSWORD@]HOST:PORT[/DATABASE][?PARAMETERS]   rediss:// with TLS
//
//	timeout=1s         bound of a call, including connecting; 1ms to 1m
//	addr=HOST:PORT     more nodes of a cluster, or more sentinels
//	master_set=NAME    the addresses are Sentinels that know the server of this name
//	sentinel_user=NAME, sentinel_password=PASSWORD   of the Sentinels, where they ask for one
//	ca=FILE            certificates in PEM that are trusted instead of those of the system; rediss only
//	client_name=NAME, skip_verify=true   as rueidis understands them
//
// Callers may add their own parameters.
package redisurl

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/brokerurl"
)

// Target is a parsed URL.
type Target struct {
	Option  rueidis.ClientOption
	Timeout time.Duration // 0: not given
	// Own are the caller's parameters.
	Own url.Values
}

// errURL does not quote the URL: after a typing error any part of it may be the password.
var errURL = errors.New("the URL of Redis must look like redis://[USER:PASSWORD@]HOST:PORT[/DATABASE][?PARAMETERS], " +
	"with special characters of the password escaped")

// parameters are those of every URL. An unknown one is an error: rueidis would ignore it.
var parameters = []string{"timeout", "addr", "ca", "client_name", "master_set", "sentinel_password", "sentinel_user",
	"skip_verify"}

// Parse parses a URL. own names the caller's parameters. It reads only the file of ca. No error contains the URL.
func Parse(text string, own ...string) (Target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "redis" && u.Scheme != "rediss" {
		return Target{}, errURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Target{}, errURL
	}
	t := Target{Own: url.Values{}}
	for name, values := range query {
		switch {
		case slices.Contains(own, name):
			t.Own[name] = values
			query.Del(name)
		case !slices.Contains(parameters, name):
			return Target{}, fmt.Errorf("the URL of Redis has a parameter that there is not; there are %q",
				slices.Sorted(slices.Values(slices.Concat(own, parameters))))
		}
	}
	if text := query.Get("timeout"); query.Has("timeout") {
		if t.Timeout, err = time.ParseDuration(text); err != nil || t.Timeout < time.Millisecond || t.Timeout > time.Minute {
			return Target{}, fmt.Errorf("the timeout in the URL of Redis must be 1ms to 1m, not %q", text)
		}
	}
	sentinelUser, sentinelPassword, ca := query.Get("sentinel_user"), query.Get("sentinel_password"), query.Get("ca")
	for _, name := range []string{"timeout", "sentinel_user", "sentinel_password", "ca"} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	if t.Option, err = rueidis.ParseURL(u.String()); err != nil {
		return Target{}, errURL
	}
	if ca != "" {
		if err := t.trust(ca); err != nil {
			return Target{}, err
		}
	}
	s := &t.Option.Sentinel
	s.Username, s.Password, s.TLSConfig = sentinelUser, sentinelPassword, t.Option.TLSConfig
	return t, nil
}

func (t *Target) trust(file string) error {
	if t.Option.TLSConfig == nil {
		return errors.New("the URL of Redis has the parameter ca, which goes with rediss:// only")
	}
	var err error
	t.Option.TLSConfig.RootCAs, err = brokerurl.Authorities("Redis", "ca", file)
	return err
}
