// Package rabbittest gives tests a real RabbitMQ, as package redistest does Redis.
//
// Shared is for nearly all of them: a virtual host on a server that many tests share. That server is the one that
// TASKER_TEST_RABBITMQ names, as "make test" does; without it each test process starts one of its own, from the program
// that is installed, in about eight seconds. Start gives a test a server that it may stop, kill, freeze, and whose
// alarms it may raise.
//
// Where neither a server nor the program is to be had, tests are skipped and say why; with CI=true they fail. Nothing
// that is started here outlives the process that started it, however that ends.
package rabbittest
