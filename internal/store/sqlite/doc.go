// Package sqlite keeps Tasker's data in one SQLite file.
//
// There is one writer: every write of the process goes through one connection,
// many at a time as one transaction (group commit), so SQLite never has to say
// "database is locked". A lock file keeps a second process out. Readers have
// connections of their own and see the last committed state (WAL).
//
// Commits are durable: WAL with synchronous=FULL syncs the log before a commit
// returns.
//
// The 60-bit sequence of an ID is the rowid; the rest of the UUID is computed
// from it and a seed kept in the file.
package sqlite
