// Package doctor examines a database that Tasker keeps its work in and says, in
// plain words, what is wrong and what to do about it.
//
// It only ever reads: each check is a read-only transaction of its own, bounded
// by a time-out, so it can be run beside servers, through PgBouncer, and by a role
// that may do nothing else. What a check cannot look at is a warning, and the
// other checks are made all the same.
package doctor
