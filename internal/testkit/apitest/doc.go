// Package apitest drives the whole server, on a SQLite file and on PostgreSQL, through the public SDK, and by bare HTTP
// for input that the SDK would refuse. It has tests only.
package apitest
