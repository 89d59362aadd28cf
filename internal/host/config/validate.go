package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// maxPool bounds the pool: no PostgreSQL serves that many connections well.
const maxPool = 10000

// validate checks rules beyond types. Package settings has the engine's bounds, also for the embedded engine.
func (l *loader) validate() {
	c := l.cfg
	check := func(path string, err error) {
		if err != nil {
			l.problem(l.place(path), "%s: %v", path, err)
		}
	}
	_, err := ParseDSN(c.DB.DSN)
	check("db.dsn", err)
	check("db.migrate", oneOf(c.DB.Migrate, "auto", "never"))
	check("db.pool_size", between(c.DB.PoolSize, 0, maxPool))
	check("dispatch", CheckDispatch(c.Dispatch))
	check("server.listen", checkListen(c.Server.Listen))
	check("server.body_bytes", positive(int64(c.Server.BodyBytes)))
	check("server.batch_body_bytes", positive(int64(c.Server.BatchBodyBytes)))
	check("server.bodies_bytes", positive(int64(c.Server.BodiesBytes)))
	check("server.max_connections", between(c.Server.MaxConnections, 10, 1_000_000))
	check("server.max_streams_per_key", positive(int64(c.Server.MaxStreamsPerKey)))
	check("server.max_streams", positive(int64(c.Server.MaxStreams)))
	check("server.drain_timeout", positive(int64(c.Server.DrainTimeout)))
	check("dlq.max_requeue_iterations", between(c.DLQ.MaxRequeueIterations, 1, 100_000))
	check("dlq.max_retry_attempts", between(c.DLQ.MaxRetryAttempts, 0, deadletter.MaxRetriesLimit))
	check("dlq.retry_delay_hours", within(c.DLQ.RetryDelayHours, deadletter.MaxDelay.Hours()))
	check("dlq.max_age_days", within(c.DLQ.MaxAgeDays, deadletter.MaxAgeLimit.Hours()/24))
	check("dlq.batch_size", between(c.DLQ.BatchSize, 0, 1000))
	if c.DLQ.APIKeyEnabled && len(c.Keys) == 0 {
		check("dlq.api_key_enabled", errors.New("needs at least one entry in keys"))
	}
	check(checkEncryption(&c.Encryption))
	check(checkBlobs(&c.Blobs))
	check("log.level", oneOf(c.Log.Level, "debug", "info", "warn", "error"))
	check("log.format", oneOf(c.Log.Format, "text", "json"))
	check("telemetry.otlp_endpoint", checkEndpoint(c.Telemetry.OTLPEndpoint))
	if r := c.Telemetry.SampleRatio; r < 0 || r > 1 {
		check("telemetry.sample_ratio", fmt.Errorf("must be from 0 to 1, not %v", r))
	}
	l.validateRabbitmq(check)
	l.validateKeys()
	l.validateSources()
	l.validateWebhooks()
	for _, err := range unjoin(c.Engine.Validate()) {
		// The engine begins each problem with the key below its section.
		key, _, _ := strings.Cut(err.Error(), " ")
		if strings.HasPrefix(key, "delivery.") {
			continue // reported under message_queue
		}
		l.problem(l.place("engine."+strings.TrimSuffix(key, ":")), "engine.%v", err)
	}
}

// validateKeys repeats the rules of access.New, which has no places, to report each problem at its line.
func (l *loader) validateKeys() {
	var words []string
	for _, p := range access.Permissions() {
		words = append(words, string(p))
	}
	names, hashes := map[string]int{}, map[string]int{}
	for i, k := range l.cfg.Keys {
		bad := func(field, format string, args ...any) {
			path := fmt.Sprintf("keys[%d].%s", i, field)
			l.problem(l.place(path), path+" "+format, args...)
		}
		if k.Name == "" {
			bad("name", "is missing")
		} else if first, twice := names[k.Name]; twice {
			bad("name", "is the name of keys[%d] too", first)
		}
		names[k.Name] = i
		sum := strings.ToLower(k.SHA256)
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
			bad("sha256", "must be 64 hexadecimal digits, as `tasker key generate` prints them")
		} else if first, twice := hashes[sum]; twice {
			bad("sha256", "is the hash of keys[%d] too", first)
		}
		hashes[sum] = i
		if len(k.Permissions) == 0 {
			bad("permissions", "is missing: say some of %s", strings.Join(words, ", "))
		}
		for j, p := range k.Permissions {
			if err := oneOf(p, words...); err != nil {
				bad(fmt.Sprintf("permissions[%d]", j), "%v", err)
			}
		}
		for j, n := range k.Namespaces {
			if n == "" {
				bad(fmt.Sprintf("namespaces[%d]", j), "must not be empty")
			}
		}
	}
}

// checkListen checks the form of an address; only the start can bind it.
func checkListen(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("must be HOST:PORT, not %q", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("must end in a port from 0 to 65535, not %q", port)
	}
	if strings.ContainsAny(host, " /") {
		return fmt.Errorf("must begin with a host, not %q", host)
	}
	return nil
}

// checkEndpoint checks the URL of an OTLP endpoint without repeating it, because it may contain a password.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("must be a URL such as http://localhost:4318")
	}
	return nil
}

// Open reports whether any caller on the network could use the API: no key, and an address beyond this machine,
// such as any host name except localhost.
func (c *Config) Open() bool {
	host, _, err := net.SplitHostPort(c.Server.Listen)
	if err != nil || len(c.Keys) > 0 {
		return false
	}
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// CheckOpen refuses an open server without AllowOpen. Load does not call it, because commands that do not listen
// must accept any configuration.
func (c *Config) CheckOpen() error {
	if !c.Open() || c.Server.AllowOpen {
		return nil
	}
	return &tasker.Error{
		Code: tasker.CodeInvalid,
		Message: fmt.Sprintf("refusing to listen on %s without API keys: everybody who reaches this address could read and "+
			"change all tasks",
			c.Server.Listen),
		Hint: "add a key (tasker key generate), listen on 127.0.0.1, or say server.allow_open: true (--allow-open)",
	}
}

func positive(n int64) error {
	if n <= 0 {
		return fmt.Errorf("must be positive")
	}
	return nil
}

func between(n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("must be from %d to %d", low, high)
	}
	return nil
}

func oneOf(got string, words ...string) error {
	if slices.Contains(words, got) {
		return nil
	}
	if near := nearest(got, words); near != "" {
		return fmt.Errorf("must be one of %s, not %q; did you mean %s?", strings.Join(words, ", "), got, near)
	}
	return fmt.Errorf("must be one of %s, not %q", strings.Join(words, ", "), got)
}

func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
