// Package store holds the SQL that every engine understands, once: reading
// tasks, steps and records, templates, routes, workers. What must differ (the
// hot path, migrations, how rows are locked, how an ID is kept) lives in the
// packages sqlite and postgres.
//
// Placeholders are $1, $2, ...: native on PostgreSQL and understood by SQLite.
// Times are microseconds since 1970, as task.Instant has them; 0 is never.
package store
