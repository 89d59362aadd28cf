// Package rabbitmq gets the steps of a worker from RabbitMQ instead of polls:
//
//	transport := rabbitmq.NewTransport("amqp://worker:secret@broker:5672/tasker", rabbitmq.Options{})
//	worker := worker.New(client, &worker.Options{Transport: transport})
//	worker.Handle("send_email", sendEmail)
//	err := worker.Run(ctx)
//
// The server must offer it (message_queue.rabbitmq.url). It sends each step that it assigns to the worker to the
// worker's queue. The handlers are those of a polling worker, and both kinds of workers may serve one handler. Steps
// are started and settled over HTTP: a message is the notice of a lease, and may be lost, late or repeated without
// harm.
//
// # Permissions
//
// The package declares and publishes nothing. Its user only needs to read the queues of workers:
//
//	rabbitmqctl set_permissions -p tasker worker '^$' '^$' '^worker\..*\.executions$'
//
// # Failures
//
// The package reconnects with growing pauses, and waits for a queue that is missing or has been moved. After a lost
// connection RabbitMQ redelivers unacknowledged messages; the worker recognizes the steps that it has started. No error
// and no log entry contains the password.
//
// Begin with transport.go, then consumer.go; answers.go acknowledges, message.go decodes.
// docs/guides/rabbitmq-workers.md describes the protocol for other languages.
package rabbitmq
