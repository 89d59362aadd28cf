package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// DSN is a parsed data source name: the address of a database.
type DSN struct {
	Engine string // sqlite, postgres or memory
	Path   string // of the SQLite file; for PostgreSQL the original DSN
}

// Source is the text to open the database with. It may contain a password; String does not.
func (d DSN) Source() string {
	if d.Engine == "postgres" {
		return d.Path
	}
	return d.Engine + ":" + d.Path
}

// String returns the DSN without its password.
func (d DSN) String() string { return RedactDSN(d.Source()) }

var (
	scheme = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]+):`)
	// PostgreSQL's keyword/value form would pass as a path.
	keywordValue = regexp.MustCompile(`(?i)(^|\s)(host|hostaddr|dbname|user|password|service|sslmode)\s*=`)
)

// ParseDSN parses sqlite:PATH, postgres://..., memory: or a plain path. A single letter before a colon is a Windows
// drive. It opens nothing; the store parses the parameters of PostgreSQL.
func ParseDSN(dsn string) (DSN, error) {
	m := scheme.FindStringSubmatch(dsn)
	switch {
	case m == nil && dsn == "":
		return DSN{}, fmt.Errorf("must not be empty")
	case m == nil && keywordValue.MatchString(dsn):
		return DSN{}, fmt.Errorf("write PostgreSQL as postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	case m == nil:
		return DSN{"sqlite", dsn}, nil
	}
	rest := dsn[len(m[0]):]
	switch strings.ToLower(m[1]) {
	case "sqlite":
		path := strings.TrimPrefix(rest, "//")
		if path == "" {
			return DSN{}, fmt.Errorf("sqlite: requires a path, such as sqlite:tasker.db")
		}
		return DSN{"sqlite", path}, nil
	case "memory":
		if rest != "" {
			return DSN{}, fmt.Errorf("memory: must have nothing after the colon")
		}
		return DSN{"memory", ""}, nil
	case "postgres", "postgresql":
		if !strings.HasPrefix(rest, "//") {
			return DSN{}, fmt.Errorf("write PostgreSQL as postgres://USER:PASSWORD@HOST:PORT/DATABASE")
		}
		return DSN{"postgres", strings.ToLower(m[0]) + rest}, nil
	}
	return DSN{}, fmt.Errorf("unknown database %q; use sqlite:PATH, postgres://..., memory: or a plain path", m[1])
}

// mask is also the mask of url.URL.Redacted.
const mask = "xxxxx"

var (
	// secretName matches the name of a secret parameter.
	secretName = regexp.MustCompile(`(?i)pass|pwd|secret|token|key`)
	// secretParam matches one, bare or quoted as in the keyword/value form, where a backslash escapes.
	secretParam = regexp.MustCompile(
		`(?i)((?:pass|pwd|secret|token|key)[a-z0-9_]*\s*=\s*)('(?:[^'\\]|\\.)*'?|(?:[^&#\s\\]|\\.)*)`)
	// userPart matches everything before the host.
	userPart = regexp.MustCompile(`(?is)^(postgres(?:ql)?:(?://)?|[a-z][a-z0-9+.-]*://).*@`)
)

// RedactDSN masks passwords before the host, in the query, and in the keyword/value form. It accepts invalid text,
// which error messages show, and when in doubt removes more than the password.
func RedactDSN(dsn string) string {
	if parsed, err := ParseDSN(dsn); err == nil && parsed.Engine != "postgres" {
		return secretParam.ReplaceAllString(dsn, "${1}"+mask) // a path may contain an @
	}
	return redactURL(dsn)
}

func redactURL(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return userPart.ReplaceAllString(secretParam.ReplaceAllString(dsn, "${1}"+mask), "${1}"+mask+"@")
	}
	pairs := strings.Split(u.RawQuery, "&")
	for i, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err != nil || secretName.MatchString(plain) {
			pairs[i] = name + "=" + mask
		}
	}
	u.RawQuery = strings.Join(pairs, "&")
	return u.Redacted()
}
