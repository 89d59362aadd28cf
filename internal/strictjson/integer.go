package strictjson

// written is an integer that stands between two places of a document in another form
// than plain digits.
type written struct {
	begin, end int
	digits     string
}

// rewrite returns a document with integers in plain digits; the document itself when
// all are.
func rewrite(data []byte, integers []written) []byte {
	if len(integers) == 0 {
		return data
	}
	out := make([]byte, 0, len(data))
	last := 0
	for _, w := range integers {
		out = append(append(out, data[last:w.begin]...), w.digits...)
		last = w.end
	}
	return append(out, data[last:]...)
}
