package bench

import (
	"context"
	"crypto/rand"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// ownPrefix gives a run keys of its own, unless the URL names some. They are few
// when all tasks are done, and the next run does not find them.
func ownPrefix(dispatch string) string {
	u, err := url.Parse(dispatch)
	if err != nil || dispatch == "" || u.Query().Has("prefix") {
		return dispatch
	}
	q := u.Query()
	q.Set("prefix", "bench-"+rand.Text()[:8])
	u.RawQuery = q.Encode()
	return u.String()
}

// redisHere returns the process of a Redis server, if it runs on this machine.
func redisHere(ctx context.Context, dispatch string) (pid int, ok bool) {
	if dispatch == "" {
		return 0, false
	}
	u, err := url.Parse(dispatch)
	if err != nil {
		return 0, false
	}
	u.RawQuery = "" // parameters of ours
	option, err := rueidis.ParseURL(u.String())
	if err != nil {
		return 0, false
	}
	option.DisableCache = true
	client, err := rueidis.NewClient(option)
	if err != nil {
		return 0, false
	}
	defer client.Close()
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(info) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); found {
			pid, _ = strconv.Atoi(text) // 0 is nobody
		}
	}
	s, ok, err := statOf(pid)
	return pid, err == nil && ok && s.name == "redis-server"
}
