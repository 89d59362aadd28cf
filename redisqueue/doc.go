// Package redisqueue is for applications that consume Redis lists themselves: it takes jobs so that a crash loses none,
// retries failed attempts with a delay, and moves jobs that fail for good to a dead-letter list, in a format that
// Tasker and other programs read.
//
// A [Consumer] runs a function for each job of a list:
//
//	letters, err := redisqueue.OpenDeadLetters(redisqueue.DeadLetterOptions{Client: client, Dir: "/var/lib/app/spool"})
//	...
//	consumer, err := redisqueue.NewConsumer(redisqueue.ConsumerOptions{
//		Client: client, Queue: "detection_queue", Letters: letters,
//		Handler: func(ctx context.Context, job redisqueue.Job) (any, error) { return detect(ctx, job.Payload) },
//	})
//	...
//	err = consumer.Run(ctx)
//
// An application with its own loop uses a [Handler], which runs one job with its retries. A [Queue] pushes jobs to a
// list of limited length.
//
// # Delivery
//
// Delivery is at least once: a job whose consumer crashed runs again. A job leaves the list of its consumer when it
// succeeds, or in the same step in which its failure enters the dead-letter list. While that list cannot be written, a
// [Breaker] keeps the application from waiting, and failures go to files, from which they are sent later in order, even
// by the next process. When the files are full, jobs stay unacknowledged. Nothing is dropped.
//
// # Names
//
// The dead letters of a queue Q are in the list dlq:Q, and jobs from a full queue in dlq:overflow:Q. In a Redis Cluster
// all of these must be in one slot, so Q needs a hash tag: {detections} instead of detections. Keys that begin with
// tasker: belong to the consumers; see docs/guides/redis-queues.md.
//
// # Reading
//
// The package contains no engine and no database driver. Begin with consumer.go, then handler.go and dead_letters.go;
// job_failure.go has the format, breaker.go the breaker, queue.go pushes jobs, dlq.go manages dead letters. metrics.go
// exports metrics. contract_test.go lists what applications may rely on.
package redisqueue
