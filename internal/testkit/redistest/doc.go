// Package redistest gives tests a real Redis, as package pgtest does PostgreSQL.
//
// Shared is for nearly all of them: a prefix for keys on a server that many tests
// share. That server is the one that TASKER_TEST_REDIS names, as "make test" does;
// without it each test process starts one of its own, from the program that is
// installed. Start gives a test a server that it may flush, stop and kill.
//
// Where neither a server nor the program is to be had, tests are skipped and say
// why; with CI=true they fail. Nothing that is started here outlives the process
// that started it, however that ends.
package redistest
