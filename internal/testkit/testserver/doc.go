// Package testserver starts the programs that tests use as servers: PostgreSQL,
// PgBouncer, Redis, RabbitMQ, Kafka. A Server has a directory and a port of its own, can be stopped,
// killed and started again, and never outlives the process that started it,
// however that ends. What is particular to each program is in the packages pgtest, redistest,
// rabbittest and kafkatest.
package testserver
