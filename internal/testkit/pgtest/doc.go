// Package pgtest gives tests a real PostgreSQL.
//
// DSN is for nearly all of them: a fresh schema on a server that many tests
// share. That server is the one that TASKER_TEST_POSTGRES names, as "make test"
// does; without it each test process starts one of its own, from the programs
// that are installed. Start gives a test a server that it may stop and kill, and
// PgBouncer puts a connection pooler before one.
//
// Where neither a server nor the programs are to be had, tests are skipped and
// say why; with CI=true they fail. Nothing that is started here outlives the
// process that started it, however that ends.
package pgtest
