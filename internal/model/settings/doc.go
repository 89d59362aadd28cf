// Package settings has what can be configured about the engine, with its defaults and limits.
//
// Config is all of it; each part has a type and a file of its own. WithDefaults fills in what
// is zero, and Validate reports every problem at once. Package config reads it from files, the
// environment and flags; a program that embeds the engine cannot set it.
//
// The package is pure: it imports the domain and no store, and reads no environment. Begin with
// settings.go.
package settings
