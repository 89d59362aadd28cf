package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// DSN is a data source name taken apart.
type DSN struct {
	Engine string // sqlite or memory
	Path   string // of the SQLite file
}

func (d DSN) String() string { return d.Engine + ":" + d.Path }

var scheme = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]+):`)

// ParseDSN reads sqlite:PATH, memory: or a plain path. A single letter before
// a colon is a drive, not a scheme.
func ParseDSN(dsn string) (DSN, error) {
	m := scheme.FindStringSubmatch(dsn)
	if m == nil {
		if dsn == "" {
			return DSN{}, fmt.Errorf("must not be empty")
		}
		return DSN{"sqlite", dsn}, nil
	}
	rest := dsn[len(m[0]):]
	switch strings.ToLower(m[1]) {
	case "sqlite":
		path := strings.TrimPrefix(rest, "//")
		if path == "" {
			return DSN{}, fmt.Errorf("sqlite: wants a path, such as sqlite:tasker.db")
		}
		return DSN{"sqlite", path}, nil
	case "memory":
		if rest != "" {
			return DSN{}, fmt.Errorf("memory: takes nothing after the colon")
		}
		return DSN{"memory", ""}, nil
	case "postgres", "postgresql":
		return DSN{}, fmt.Errorf("PostgreSQL is not built yet in this version; use memory: or sqlite:PATH")
	}
	return DSN{}, fmt.Errorf("unknown database %q; use sqlite:PATH, memory: or a plain path", m[1])
}

var (
	userinfo     = regexp.MustCompile(`//[^/@]*@`)
	secretParams = regexp.MustCompile(`(?i)((?:pass|pwd|secret|token|key)[a-z_]*=)[^&\s]*`)
)

// RedactDSN hides passwords. It works on text that is no valid URL too, because
// a DSN with a typing error is shown in an error.
func RedactDSN(dsn string) string {
	dsn = secretParams.ReplaceAllString(dsn, "${1}xxxxx")
	if u, err := url.Parse(dsn); err == nil && u.Host != "" {
		return u.Redacted()
	}
	return userinfo.ReplaceAllString(dsn, "//xxxxx@")
}
