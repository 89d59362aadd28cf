// Package store contains the SQL that every engine understands, once: reading tasks, steps and records, templates,
// routes, workers. The parts that differ (the hot path, migrations, row locks, the form of an ID) are in the packages
// sqlite and postgres.
//
// Placeholders are $1, $2, ...: native on PostgreSQL and understood by SQLite. Times are microseconds since 1970, as in
// task.Instant; 0 is never.
package store
