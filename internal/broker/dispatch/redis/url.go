package redis

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redisurl"
)

const (
	defaultPrefix  = "tasker"
	defaultTimeout = time.Second
)

type target struct {
	option  rueidis.ClientOption
	prefix  string // empty: not given
	timeout time.Duration
}

// names matches prefixes without braces, which delimit the hash tag.
var names = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// parseURL connects to nothing. An error never contains the URL.
func parseURL(text string) (target, error) {
	u, err := redisurl.Parse(text, "prefix")
	if err != nil {
		return target{}, err
	}
	t := target{option: u.Option, prefix: u.Own.Get("prefix"), timeout: cmp.Or(u.Timeout, defaultTimeout)}
	if u.Own.Has("prefix") && !names.MatchString(t.prefix) {
		return target{},
			fmt.Errorf("the prefix in the URL of Redis must be 1 to 64 of the characters A-Z a-z 0-9 _ . : -, not %q", t.prefix)
	}
	return t, nil
}
