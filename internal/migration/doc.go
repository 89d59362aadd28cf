// Package migration brings a database's schema to the one that this binary was
// built for, and refuses a database whose schema is another.
//
// A list of migrations is a directory of files, 0001_words.sql and so on without
// a gap, each one transaction in the format of goose with an Up part only: a
// schema goes forward and never back. The database keeps the list of what it was
// given in tasker_migrations, which is goose's table, and beside it the SHA-256 of
// each file. So a file that was changed after it had been applied is noticed at
// every start, and so is a database that a newer binary has migrated.
//
// Many processes that start at once migrate once: whoever gets the lock does it,
// the others wait and find it done.
package migration
