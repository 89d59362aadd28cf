package doctest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

// script is a page that runs from top to bottom, as one session of bash.
type script struct {
	page    string
	before  string            // what goes before the first block
	replace *strings.Replacer // of what the page calls things; may be nil
}

// endOfBlock is a line between what two blocks print.
const endOfBlock = "<<<<< end of block"

// run runs the bash blocks of the page, and compares each text block with the output of the bash block before. It
// returns the numbers of both.
func (s script) run(t *testing.T, to server) (ran, shown int) {
	t.Helper()
	list := shownBlocks(t, s.page)
	var session strings.Builder
	session.WriteString(pagetest.EndJobs + s.before)
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
			if err := pagetest.Compare(b.text, printed[i]); err != nil {
				t.Errorf("%s, after\n%s\n%v", s.page, b.commands, err)
			}
		}
	}
	return len(list), shown
}

// shownBlock is a block of commands, and their output on the page.
type shownBlock struct{ commands, text string }

func shownBlocks(t *testing.T, page string) []shownBlock {
	t.Helper()
	var shown []shownBlock
	for _, b := range blocks(t, page) {
		switch b.Language {
		case "bash":
			shown = append(shown, shownBlock{commands: b.Text})
		case "text":
			if len(shown) == 0 {
				t.Fatalf("%s shows what is printed before anything is run", page)
			}
			shown[len(shown)-1].text = b.Text
		}
	}
	return shown
}
