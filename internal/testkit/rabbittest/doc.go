// Package rabbittest gives tests a real RabbitMQ.
//
// Shared is for nearly all of them: a virtual host on a shared server. TASKER_TEST_RABBITMQ names it, as in "make
// test"; the default is one per test process, from the installed program, in about eight seconds. Start gives a test a
// server that it may stop, kill, freeze, and whose alarms it may raise.
//
// Without a server and the program, tests are skipped with a reason; with CI=true they fail. Nothing outlives the
// process that started it.
package rabbittest
