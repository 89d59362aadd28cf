// Package settings has the configuration of the engine with its defaults and limits.
//
// Config is all of it; each part has its own type and file. WithDefaults fills in zero fields, and Validate reports
// every problem at once. Package config reads it from files, the environment and flags; embedding programs cannot
// set it.
//
// The package is pure: it imports the domain and no store. Begin with settings.go.
package settings
