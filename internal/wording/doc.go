// Package wording helps to write messages: nouns with their number, and the known word that
// somebody most likely meant.
package wording
