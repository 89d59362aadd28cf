// Package apitest drives the whole server, the engine on a SQLite file and on
// PostgreSQL behind the HTTP API, through the public SDK, and by bare HTTP where
// the SDK would not let bad input through. It holds tests only.
package apitest
