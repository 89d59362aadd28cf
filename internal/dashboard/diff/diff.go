// Package diff compares texts line by line, for pages that show what an edit changes.
package diff

import "strconv"

// Line is a line of a comparison.
type Line struct {
	// Kind is "" for a line of both, "del" for one of the old text, "ins" for one of the new, and "skip" for lines of
	// both that Fold left out.
	Kind string
	Text string
}

// maxCells bounds a comparison: longer texts are shown as one replaced by the other.
const maxCells = 4_000_000

// Lines compares two texts: the fewest lines that were taken out and put in.
func Lines(before, after []string) []Line {
	var out []Line
	if len(before)*len(after) > maxCells {
		for _, text := range before {
			out = append(out, Line{"del", text})
		}
		for _, text := range after {
			out = append(out, Line{"ins", text})
		}
		return out
	}
	// common[i][j] is the length of the longest common sequence of before[i:] and after[j:].
	common := make([][]int32, len(before)+1)
	for i := range common {
		common[i] = make([]int32, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if before[i] == after[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			out = append(out, Line{"", before[i]})
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			out = append(out, Line{"del", before[i]})
			i++
		default:
			out = append(out, Line{"ins", after[j]})
			j++
		}
	}
	return out
}

// Fold leaves out common lines more than context lines away from a change. It returns nil without a change.
func Fold(lines []Line, context int) []Line {
	near := make([]bool, len(lines))
	changed := false
	for i, l := range lines {
		if l.Kind == "" {
			continue
		}
		changed = true
		for j := max(0, i-context); j <= min(len(lines)-1, i+context); j++ {
			near[j] = true
		}
	}
	if !changed {
		return nil
	}
	var out []Line
	for i := 0; i < len(lines); {
		if near[i] {
			out, i = append(out, lines[i]), i+1
			continue
		}
		from := i
		for i < len(lines) && !near[i] {
			i++
		}
		out = append(out, Line{"skip", strconv.Itoa(i-from) + " lines that do not change"})
	}
	return out
}
