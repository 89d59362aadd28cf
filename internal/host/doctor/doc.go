// Package doctor examines Tasker's database and reports problems and remedies in plain words. Examine is its main
// function.
//
// It only reads: each check is a separate read-only transaction with a time-out, so it can run beside servers,
// through PgBouncer, and under a role without other permissions. A check that cannot run is a warning, and the
// others still run.
//
// Read doctor.go first: an examination is a list of exams, each of which returns checks. postgres.go and sqlite.go
// list them for their engine; postgres_*.go have exams of the server, its storage, and obstacles to vacuum; work.go
// those of tasks and steps; schema.go compares migrations and indexes; redis.go inspects the Redis servers of
// dead-letter sources. A new exam needs a stable name, and advice that an operator can follow without the source.
package doctor
