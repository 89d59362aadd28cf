// Package sqlite keeps Tasker's data in one SQLite file. Its main type is Store; read open.go, then write.go.
//
// There is one writer: every write of the process uses one connection, many together as one transaction (group commit),
// so SQLite never returns "database is locked". A lock file keeps a second process out. Readers have their own
// connections and see the last committed state (WAL).
//
// Commits are durable: WAL with synchronous=FULL syncs the log before a commit returns.
//
// The 60-bit sequence of an ID is the rowid; the rest of the UUID is computed from it and a seed stored in the file.
package sqlite
