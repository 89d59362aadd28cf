// Package redistest gives tests a real Redis.
//
// Shared is for nearly all of them: a prefix for keys on a shared server. TASKER_TEST_REDIS names it, as in "make
// test"; the default is one per test process, from the installed program. Start gives a test a server that it may
// flush, stop and kill.
//
// Without a server and the program, tests are skipped with a reason; with CI=true they fail. Nothing outlives the
// process that started it.
package redistest
