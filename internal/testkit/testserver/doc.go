// Package testserver starts programs as servers for tests: PostgreSQL, PgBouncer, Redis, RabbitMQ, Kafka. A Server has
// its own directory and port, can be stopped, killed and restarted, and never outlives the process that started it. The
// packages pgtest, redistest, rabbittest and kafkatest have the details of each program.
package testserver
