// Package dlqapi has the JSON types of the compatibility family /api/dlq and the interface that its routes need. It
// names things as systems do that keep failed jobs in lists of Redis: a queue, its jobs, and their JobFailure. The jobs
// are dead letters; the family adds no state and no rule to them.
package dlqapi
