// Package pgtest gives tests a real PostgreSQL.
//
// DSN is for nearly all of them: a fresh schema on a shared server. TASKER_TEST_POSTGRES names it, as in "make test";
// the default is one per test process, from installed programs. Start gives a test a server that it may stop and kill,
// and PgBouncer puts a connection pooler before one.
//
// Without a server and programs, tests are skipped with a reason; with CI=true they fail. Nothing outlives the process
// that started it.
package pgtest
