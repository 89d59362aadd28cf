package postgres

import (
	"errors"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/taskerhq/tasker/internal/model/task"
)

// DSN is the address of a database. It never prints its password.
type DSN struct {
	// Schema contains all our objects; "" is the first of the role's search_path.
	Schema string
	// PgBouncer: a pooler gives connections to other clients between transactions: no LISTEN, no prepared statements,
	// no session settings.
	PgBouncer bool
	// Pool is the configuration for pgx. It is not shared.
	Pool *pgxpool.Config
}

// connectTimeout bounds connecting, for each host, unless the DSN has connect_timeout. pgx alone would wait as long as
// the network does.
const connectTimeout = 3 * time.Second

// poolSize is pgxpool's parameter for the number of connections, defaultPool its default: enough for every verb to have
// a transaction open, and for readers.
const (
	poolSize    = "pool_max_conns="
	defaultPool = 10
)

// schemaName matches fewer names than PostgreSQL allows, so that a name needs no quoting anywhere.
var schemaName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// ParseDSN parses postgres://USER:PASSWORD@HOST:PORT/DATABASE?..., or the keyword/value form, like pgx with its
// environment variables, and two parameters of our own: schema=NAME and pgbouncer=true. Of several hosts it selects the
// one that accepts writes, unless target_session_attrs is set. An error is a *task.Error of code Invalid without the
// input, which may be a password with a typing error. It does not connect. The caller may change Pool.
func ParseDSN(dsn string) (DSN, error) {
	pool, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return DSN{}, unreadable(err)
	}
	d := DSN{Pool: pool}
	if !strings.Contains(dsn, poolSize) {
		pool.MaxConns = defaultPool
	}
	// pgx passes unknown parameters to the server, which would refuse ours: takeSchema and takeBool remove them.
	cc := pool.ConnConfig
	if d.Schema, err = takeSchema(cc.RuntimeParams); err != nil {
		return DSN{}, err
	}
	if d.PgBouncer, err = takeBool(cc.RuntimeParams, "pgbouncer"); err != nil {
		return DSN{}, err
	}
	switch {
	case d.PgBouncer && cc.RuntimeParams["search_path"] != "":
		return DSN{}, &task.Error{Code: task.Invalid,
			Message: "with pgbouncer=true the DSN cannot set search_path: PgBouncer does not keep it for its clients",
			Hint:    "name the schema with schema=NAME: then every transaction sets it for itself"}
	case d.Schema != "" && cc.RuntimeParams["search_path"] != "":
		return DSN{}, task.Errorf(task.Invalid, "the DSN names both schema and search_path; schema says it all")
	case d.Schema != "" && !d.PgBouncer:
		cc.RuntimeParams["search_path"] = pgx.Identifier{d.Schema}.Sanitize()
	}
	if d.PgBouncer {
		// Descriptions stay on the client: no statement remains on a connection that passes to another client.
		cc.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if cc.RuntimeParams["application_name"] == "" {
		cc.RuntimeParams["application_name"] = "tasker" // the name in pg_stat_activity
	}
	// After a failover the first host of the DSN may be a standby.
	if cc.ValidateConnect == nil && !strings.Contains(dsn, "target_session_attrs") &&
		os.Getenv("PGTARGETSESSIONATTRS") == "" && severalHosts(cc) {
		cc.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if cc.ConnectTimeout == 0 {
		cc.ConnectTimeout = connectTimeout
	}
	return d, nil
}

// severalHosts reports whether a DSN names more than one server. pgx also lists one tried with and without TLS as
// fallbacks, which counts once.
func severalHosts(cc *pgx.ConnConfig) bool {
	for _, f := range cc.Fallbacks {
		if f.Host != cc.Host || f.Port != cc.Port {
			return true
		}
	}
	return false
}

// WithPoolSize returns the DSN with a maximum number of connections, unless n is 0 or the DSN has one, which is more
// specific. It works on the text, because the DSN may still be logged or passed on.
func WithPoolSize(dsn string, n int) string {
	switch {
	case n <= 0 || strings.Contains(dsn, poolSize):
		return dsn
	case !strings.Contains(dsn, "://"):
		return dsn + " " + poolSize + strconv.Itoa(n)
	case strings.Contains(dsn, "?"):
		return dsn + "&" + poolSize + strconv.Itoa(n)
	}
	return dsn + "?" + poolSize + strconv.Itoa(n)
}

// unreadable reports why pgx could not parse a DSN. pgx's error hides its guess of the password; if it could not find
// the parts, no part of the DSN is shown.
func unreadable(err error) error {
	e := &task.Error{Code: task.Invalid, Message: "the DSN cannot be read",
		Hint: "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password percent-encoded"}
	var bad *pgconn.ParseConfigError
	if !errors.As(err, &bad) {
		return e
	}
	text := bad.Error()
	if i := strings.LastIndex(text, "`: "); i >= 0 && !strings.Contains(text[i:], "failed to parse as") {
		e.Message += ": " + text[i+len("`: "):]
	}
	return e
}

// takeSchema removes the parameter schema, which PostgreSQL does not have, and returns it. It refuses names that need
// quoting and those of PostgreSQL's own schemas.
func takeSchema(params map[string]string) (string, error) {
	name, given := params["schema"]
	delete(params, "schema")
	switch {
	case !given:
		return "", nil
	case !schemaName.MatchString(name) || strings.HasPrefix(strings.ToLower(name), "pg_"):
		return "", task.Errorf(task.Invalid, "schema=%q: a schema is named by letters, digits and _, at most 63, and not pg_",
			name)
	}
	return name, nil
}

func takeBool(params map[string]string, key string) (bool, error) {
	text, given := params[key]
	delete(params, key)
	if !given {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, task.Errorf(task.Invalid, "%s=%q: must be true or false", key, text)
	}
	return b, nil
}

// String returns the DSN for people: without its password and parameters of pgx, and with the first host only.
func (d DSN) String() string {
	if d.Pool == nil {
		return "postgres:"
	}
	cc := d.Pool.ConnConfig
	u := url.URL{Scheme: "postgres", Path: "/" + cc.Database}
	if cc.User != "" {
		u.User = url.User(cc.User)
	}
	q := url.Values{}
	if strings.HasPrefix(cc.Host, "/") { // the directory of a Unix socket
		q.Set("host", cc.Host)
	} else {
		u.Host = net.JoinHostPort(cc.Host, strconv.Itoa(int(cc.Port)))
	}
	if d.Schema != "" {
		q.Set("schema", d.Schema)
	}
	if d.PgBouncer {
		q.Set("pgbouncer", "true")
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// GoString keeps %#v from printing the password.
func (d DSN) GoString() string { return d.String() }
