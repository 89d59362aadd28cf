// Package postgres is the engine's store for production: one PostgreSQL (15 or
// newer) that any number of identical processes share.
//
// A unit of work is optimistic. It decides on rows as this process remembers
// them, or reads them without locks, and every row it saves is saved only if it
// is still as it was seen: its system column xmin, the transaction that wrote it,
// says so for free. Rows that were remembered and not saved are checked too. When
// somebody else was first, the transaction is run again on rows read afresh and
// locked. Steps are claimed with FOR UPDATE SKIP LOCKED.
//
// A unit of work costs as few round trips as it has questions: what it writes is
// sent with the next question, or with the commit, as one pipeline. A worker's
// result is usually one round trip.
package postgres
