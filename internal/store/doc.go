// Package store contains the SQL that every engine understands: reads of tasks, steps and records, templates, routes,
// workers, and the rows of cases, acts, notes and keys. The packages sqlite and postgres have the differences: the hot
// path, migrations, row locks, the form of an ID.
//
// SQL is a connection and a Dialect; its methods implement the engine's roles. A store offers a Conn to run it, and In
// gives a domain its SQL in an open transaction.
//
// Placeholders are $1, $2, ...: native on PostgreSQL and understood by SQLite. Times are microseconds since 1970, as in
// task.Instant; 0 is never. A read ID is compared with the requested one, because SQLite stores only a part of it.
//
// Begin with conn.go and handle.go, then rows.go, which reads tasks and steps, and where.go, the only builder of
// conditions.
package store
