// Package model holds the values of dead letters that mean the same everywhere: states with their transitions, kinds,
// operations, counts. Package deadletters shows them to programs under its own names, and the server works with the
// same types, so that no word of the API is translated. It imports the standard library only.
package model
