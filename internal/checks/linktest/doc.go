// Package linktest opens the embedded engine in a program that links no driver. It has tests only.
package linktest
