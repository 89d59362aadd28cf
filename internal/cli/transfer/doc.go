// Package transfer copies everything that Tasker keeps from one database to
// another: SQLite to PostgreSQL, back, or between two of a kind.
//
// It knows no table by name. Both databases describe themselves, the two
// descriptions are compared, and what they agree on is copied column by column.
// Every value has one canonical text, whichever engine keeps it, so rows of two
// engines can be compared, and one checksum is computed for both.
//
// Begin with transfer.go (Copy: the order of the steps), then schema.go (what is compared and copied), row.go (the
// canonical form of values) and database.go (reading in pages). postgres.go and sqlite.go are the dialects; seed.go
// explains which IDs a SQLite file can hold.
package transfer
