// Package transfer copies all content of one Tasker database to another: SQLite to PostgreSQL, back, or between two
// of a kind.
//
// It names no table. It compares the databases' own descriptions, and copies what they agree on column by column.
// Every value has one canonical text, so rows and checksums of two engines are comparable.
//
// Begin with transfer.go (Copy), then schema.go (what is compared and copied), row.go (the canonical form of
// values) and database.go (reading in pages). postgres.go and sqlite.go are the dialects; seed.go explains which
// IDs a SQLite file can hold.
package transfer
