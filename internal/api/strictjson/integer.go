package strictjson

type written struct {
	begin, end int
	digits     string
}

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
