// Package transfer copies everything that Tasker keeps from one database to
// another: SQLite to PostgreSQL, back, or between two of a kind.
//
// It knows no table by name. Both databases describe themselves, the two
// descriptions are compared, and what they agree on is copied column by column.
// Every value has one canonical text, whichever engine keeps it, so rows of two
// engines can be compared, and one checksum is computed for both.
package transfer
