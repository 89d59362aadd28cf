// Package doctor examines Tasker's database and reports, in plain words, problems and their remedies. Examine
// is its main function.
//
// It only reads: each check is a read-only transaction of its own, bounded by a timeout, so it can run beside
// servers, through PgBouncer, and under a role without any other permission. A check that cannot run is a
// warning, and the other checks still run.
//
// Read doctor.go first: an examination is a list of exams, each of which returns checks. postgres.go and sqlite.go put
// the list together for their engine; the files postgres_*.go hold exams of the server, its storage, and what holds
// back vacuum; work.go those of tasks and steps, for both engines; schema.go compares migrations and indexes; redis.go
// looks at the servers of Redis from which sources of dead letters read, with the inspector of that driver. An exam
// that is added needs a name that programs can rely on, and advice that an operator can follow without reading the
// source.
package doctor
