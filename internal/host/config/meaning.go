package config

import (
	_ "embed"
	"strings"
	"sync"
)

// meaningsText has a line for each setting: its key, a colon, and what it is for.
//
//go:embed meanings.txt
var meaningsText string

var meanings = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(meaningsText) {
		key, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		out[key] = text
	}
	return out
})

// Meaning explains a setting in a few words of Markdown, "" for an unknown key; "the same" refers to the previous
// setting. A test compares the meanings with the documentation.
func Meaning(key string) string { return meanings()[key] }
