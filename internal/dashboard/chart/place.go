package chart

import "math"

// Distances between the items of a layer, in pixels.
const (
	nodeGap = 14
	bendGap = 9
)

// rounds is the number of improvements of all heights.
const rounds = 16

// place puts every item as near to its neighbours as the order and the distances of its row allow, with links between
// bends the straightest.
func (l *layout) place(height int) {
	y := make([]float64, len(l.layer))
	for _, row := range l.rows {
		at := 0
		for i, item := range row {
			if i > 0 {
				at += l.distance(row[i-1], item, height)
			}
			y[item] = float64(at)
		}
	}
	for round := range rounds {
		before, after := round%2 == 0, round%2 == 1
		if round >= rounds-4 {
			before, after = true, true
		}
		for i := range l.rows {
			if round%2 == 1 {
				i = len(l.rows) - 1 - i
			}
			l.settle(l.rows[i], y, height, before, after)
		}
	}
	lowest := math.Inf(1)
	for item, v := range y {
		lowest = min(lowest, v-float64(l.size(item, height))/2)
	}
	l.y = make([]int, len(y))
	for item, v := range y {
		l.y[item] = int(math.Floor(v - lowest + .5))
	}
}

func (l *layout) size(item, height int) int {
	if item < l.nodes {
		return height
	}
	return 0
}

// distance is the least distance between the middles of two items of a column.
func (l *layout) distance(a, b, height int) int {
	gap := nodeGap
	if a >= l.nodes || b >= l.nodes {
		gap = bendGap
	}
	return (l.size(a, height)+l.size(b, height))/2 + gap
}

type block struct {
	y, weight float64
	count     int
}

// settle moves the items of a row towards the mean of their neighbours. Items that would overlap form blocks, at the
// weighted mean of their heights (isotonic regression).
func (l *layout) settle(row []int, y []float64, height int, before, after bool) {
	blocks := make([]block, 0, len(row))
	offsets := make([]float64, len(row))
	for i, item := range row {
		if i > 0 {
			offsets[i] = offsets[i-1] + float64(l.distance(row[i-1], item, height))
		}
		want, weight := l.want(item, y, before, after)
		b := block{want - offsets[i], weight, 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].y >= b.y {
			last := blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			sum := last.weight + b.weight
			b = block{(last.y*last.weight + b.y*b.weight) / sum, sum, last.count + b.count}
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for range b.count {
			y[row[i]] = b.y + offsets[i]
			i++
		}
	}
}

// want returns the height at which an item's links are straightest, with its weight.
func (l *layout) want(item int, y []float64, before, after bool) (at, weight float64) {
	add := func(others []int) {
		for _, other := range others {
			w := 1.0
			if item >= l.nodes {
				w *= 3
			}
			if other >= l.nodes {
				w *= 3
			}
			at += y[other] * w
			weight += w
		}
	}
	if before {
		add(l.ins[item])
	}
	if after {
		add(l.outs[item])
	}
	if weight == 0 {
		return y[item], .01
	}
	return at / weight, weight
}
