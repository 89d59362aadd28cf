// Package store contains the SQL that every engine understands, once: reading tasks, steps and
// records, templates, routes, workers, and the rows of cases, acts, notes and keys. The parts
// that differ (the hot path, migrations, row locks, the form of an ID) are in the packages
// sqlite and postgres.
//
// SQL is a connection and a Dialect; its methods implement the engine's roles. Conn is what a
// store must offer to run it, and In gives a domain its SQL in a transaction that has begun
// elsewhere.
//
// Placeholders are $1, $2, ...: native on PostgreSQL and understood by SQLite. Times are
// microseconds since 1970, as in task.Instant; 0 is never. An ID that was read is compared with
// the one that was asked for, because SQLite stores only a part of it.
//
// Begin with conn.go and handle.go, then rows.go, which reads tasks and steps, and where.go,
// the only builder of conditions.
package store
