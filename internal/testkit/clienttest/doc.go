// Package clienttest tests the workers of all languages alike. The same scenarios run against a real server with a
// small program in each language: Go, TypeScript, Python with asynchronous handlers, and Python with handlers in
// threads. The package has tests only.
//
// # The program
//
// It makes a worker with the client of its language, which reads TASKER_SERVER and TASKER_API_KEY. The variable
// TASKER_TEST_WORKER is a JSON object: name, namespaces, concurrency, shutdown_seconds, and threads for languages with
// two kinds of handlers. The program has three handlers that do the same: act; narrow, which has one slot; and short,
// with a timeout of a second. The context of the task is an order, whose parts are obeyed in this order, ref always:
//
//	ref         names the order
//	log         a line for the log of the step
//	progress    a percentage that is reported, with the message "under way"
//	checkpoint  is stored, unless there is one
//	gate        waits until a file of that name exists. If the handler has to stop meanwhile, it prints that; if the
//	            worker is stopping, it stores the checkpoint {"saved": "while draining"}. Then it ends
//	fail        an object: the first attempts fail, as many as its member attempts, in the way of how: final, retryable
//	            or plain, an ordinary exception of the language; with message and, unless plain, code. A final one has
//	            the details {"ref": ref}, a retryable one asks for the next attempt after 0.2 s
//	snooze      seconds for which it gives the step back, unless there was a checkpoint
//	bytes       the length of a text that is the result
//
// Else its result is an object: ref, attempt, checkpoint (that of an earlier attempt, or null), parents, worker.
//
// On standard output it prints lines of words: begin REF ATTEMPT; end REF; told REF REASON, which is cancelled, lost,
// draining or timeout; stopping, on SIGTERM; ended, when the worker has ended without an error. Everything else goes
// to standard error.
package clienttest
