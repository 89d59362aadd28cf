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

// Meaning returns what a setting is for, in a few words of Markdown; "the same" refers to the setting before. It is
// empty for an unknown key. A test wants one for each setting, and wants the documentation to say the same.
func Meaning(key string) string { return meanings()[key] }
