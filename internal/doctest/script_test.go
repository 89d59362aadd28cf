package doctest_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// script is a page that is run from top to bottom, as one session of bash.
type script struct {
	page    string
	before  string            // what goes before the first block
	replace *strings.Replacer // of what the page calls things; may be nil
}

// endOfBlock is a line between what two blocks print.
const endOfBlock = "<<<<< end of block"

// run runs the bash blocks of the page, and wants a text block to be what the bash
// block before it has printed. It returns how many blocks it ran, and how many
// texts there are.
func (s script) run(t *testing.T, to server) (ran, shown int) {
	t.Helper()
	list := shownBlocks(t, s.page)
	var session strings.Builder
	fmt.Fprintf(&session, "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n%s", s.before)
	for _, b := range list {
		commands := b.commands
		if s.replace != nil {
			commands = s.replace.Replace(commands)
		}
		fmt.Fprintf(&session, "%s\necho '%s'\n", commands, endOfBlock)
	}
	out, err := start(t, to, session.String()).wait()
	printed := strings.Split(out, endOfBlock+"\n")
	if err != nil {
		at := min(len(printed), len(list)) - 1
		t.Errorf("the session of %s: %v, in\n%s\n%s", s.page, err, list[at].commands, printed[at])
	}
	for i, b := range list[:min(len(printed), len(list))] {
		if b.text != "" {
			shown++
			b.check(t, s.page, printed[i])
		}
	}
	return len(list), shown
}

// shownBlock is a block of commands, and what the page says that they print.
type shownBlock struct{ commands, text string }

func shownBlocks(t *testing.T, page string) []shownBlock {
	t.Helper()
	var shown []shownBlock
	for _, b := range blocks(t, page) {
		switch b.language {
		case "bash":
			shown = append(shown, shownBlock{commands: b.text})
		case "text":
			if len(shown) == 0 {
				t.Fatalf("%s shows what is printed before anything is run", page)
			}
			shown[len(shown)-1].text = b.text
		}
	}
	return shown
}

// check wants the lines of the text one below the other in what was printed,
// without a line between two of them but where the page has a line of dots.
func (b shownBlock) check(t *testing.T, page, printed string) {
	t.Helper()
	rest := "\n" + even(printed)
	for part := range strings.SplitSeq("\n"+even(b.text), "\n...\n") {
		part = "\n" + strings.Trim(part, "\n") + "\n"
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("%s shows of\n%s\n%s\nbut this is what is printed:\n%s", page, b.commands, b.text, printed)
			return
		}
		rest = "\n" + after
	}
}

var (
	anUUID   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	unsteady = regexp.MustCompile(
		`\b\d+\.\d+\b|\b\d+ %|\b(\d+h)?(\d+m)?\d+(h|m|ms|s)( ago)?\b|\bnow\b|-{2,}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC|\+00)`)
)

// even replaces what differs from run to run, and makes the width of columns not
// matter.
func even(s string) string {
	s = unsteady.ReplaceAllString(anUUID.ReplaceAllString(s, "UUID"), "X")
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, squeeze(line))
	}
	return strings.Join(lines, "\n") + "\n"
}
