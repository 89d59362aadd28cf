// Package doctor examines Tasker's database and reports, in plain words, problems and their remedies. Examine
// is its main function.
//
// It only reads: each check is a read-only transaction of its own, bounded by a timeout, so it can run beside
// servers, through PgBouncer, and under a role without any other permission. A check that cannot run is a
// warning, and the other checks still run.
package doctor
