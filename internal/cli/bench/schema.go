package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"

	"github.com/taskerhq/tasker/internal/store/postgres"
)

// Schema is a temporary PostgreSQL schema of a measurement, which keeps existing data out of it.
type Schema struct {
	Name string
	DSN  string // of the schema

	database string // the given DSN
}

// NewSchema makes a schema named with a prefix, for a DSN without a schema.
func NewSchema(ctx context.Context, dsn, prefix string) (*Schema, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("the DSN is not a URL") // the error would show a password
	}
	name := prefix + "_" + strings.ToLower(rand.Text()[:12])
	q := u.Query()
	q.Set("schema", name)
	u.RawQuery = q.Encode()
	s := &Schema{Name: name, DSN: u.String(), database: dsn}
	return s, s.execute(ctx, "CREATE SCHEMA "+name)
}

// Drop removes the schema even after ctx has ended, so that an interrupt leaves nothing.
func (s *Schema) Drop(ctx context.Context) error {
	return s.execute(context.WithoutCancel(ctx), "DROP SCHEMA "+s.Name+" CASCADE")
}

func (s *Schema) execute(ctx context.Context, statement string) error {
	conn, err := Connect(ctx, s.database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", strings.ToLower(statement), err)
	}
	return nil
}

// ownSchema gives a PostgreSQL measurement a schema, unless the DSN names one.
func ownSchema(ctx context.Context, dsn string) (own string, drop func() error, err error) {
	nothing := func() error { return nil }
	if !IsPostgres(dsn) {
		return dsn, nothing, nil
	}
	d, err := postgres.ParseDSN(dsn)
	if err != nil || d.Schema != "" {
		return dsn, nothing, err
	}
	s, err := NewSchema(ctx, dsn, "tasker_bench")
	if err != nil {
		return dsn, nothing, err
	}
	return s.DSN, func() error { return s.Drop(ctx) }, nil
}
