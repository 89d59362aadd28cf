package page

import (
	"encoding/json"
	"strings"

	"github.com/taskerhq/tasker/internal/dashboard/diff"
)

// Changes is the preview of an edit of JSON. Its template is "changes".
type Changes struct {
	Fault string // why the new text cannot be stored
	Lines []diff.Line
	Words string // how much changes
}

// changeContext is the number of lines around a change.
const changeContext = 3

// ChangesOf compares JSON with its replacement, line by line, regardless of indentation.
func ChangesOf(before json.RawMessage, after string) Changes {
	if fault := Fault(after); fault != "" {
		return Changes{Fault: "This is not JSON: " + fault}
	}
	all := diff.Lines(strings.Split(JSON(before), "\n"), strings.Split(JSON([]byte(after)), "\n"))
	removed, added := 0, 0
	for _, l := range all {
		switch l.Kind {
		case "del":
			removed++
		case "ins":
			added++
		}
	}
	return Changes{Lines: diff.Fold(all, changeContext),
		Words: Plural(removed, "line") + " out, " + Plural(added, "line") + " in"}
}
