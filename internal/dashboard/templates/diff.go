package templates

// line is a line of a comparison.
type line struct {
	Kind string // "" for a line of both, "del" for one of the old text, "ins" for one of the new
	Text string
}

// maxCells bounds the work of a comparison: longer texts are shown as one replaced by the other.
const maxCells = 4_000_000

// diff compares two texts line by line: the fewest lines that were taken out and put in.
func diff(before, after []string) []line {
	var out []line
	if len(before)*len(after) > maxCells {
		for _, text := range before {
			out = append(out, line{"del", text})
		}
		for _, text := range after {
			out = append(out, line{"ins", text})
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
			out = append(out, line{"", before[i]})
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			out = append(out, line{"del", before[i]})
			i++
		default:
			out = append(out, line{"ins", after[j]})
			j++
		}
	}
	return out
}
