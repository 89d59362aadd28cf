package redis

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/redis/rueidis"
)

const (
	defaultPrefix  = "tasker"
	defaultTimeout = time.Second
)

// target is a parsed URL.
type target struct {
	option  rueidis.ClientOption
	prefix  string // empty: not given
	timeout time.Duration
}

// errURL does not quote the URL: after a typing error any part of it may be the password.
var errURL = errors.New("the URL of Redis must look like redis://[USER:PASSWORD@]HOST:PORT[/DATABASE][?prefix=NAME], " +
	"with special characters of the password escaped")

// parameters are the permitted parameters of a URL. An unknown one is an error: rueidis would
// ignore it.
var parameters = []string{"prefix", "timeout", "addr", "client_name", "master_set", "skip_verify"}

// names matches the permitted prefixes. They contain no braces, which delimit the hash tag.
var names = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// parseURL parses the URL of Open. It connects to nothing.
// An error never contains the URL.
func parseURL(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "redis" && u.Scheme != "rediss" {
		return target{}, errURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return target{}, errURL
	}
	for name := range query {
		if !slices.Contains(parameters, name) {
			return target{}, fmt.Errorf("the URL of Redis has a parameter that there is not; there are %q", parameters)
		}
	}
	t := target{prefix: query.Get("prefix"), timeout: defaultTimeout}
	if query.Has("prefix") && !names.MatchString(t.prefix) {
		return target{},
			fmt.Errorf("the prefix in the URL of Redis must be 1 to 64 of the characters A-Z a-z 0-9 _ . : -, not %q", t.prefix)
	}
	if text := query.Get("timeout"); query.Has("timeout") {
		if t.timeout, err = time.ParseDuration(text); err != nil || t.timeout < time.Millisecond || t.timeout > time.Minute {
			return target{}, fmt.Errorf("the timeout in the URL of Redis must be 1ms to 1m, not %q", text)
		}
	}
	query.Del("prefix")
	query.Del("timeout")
	u.RawQuery = query.Encode()
	if t.option, err = rueidis.ParseURL(u.String()); err != nil {
		return target{}, errURL
	}
	return t, nil
}
