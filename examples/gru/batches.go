package main

import "github.com/mpsrnn/mpsrnn/mlx"

// lanes cuts a text into rows that are read side by side, window by window: row i of a batch goes
// on where row i of the batch before ended, so that the recurrent state can be carried over.
type lanes struct {
	ids         []int32
	rows, width int // width: characters of one window
}

// windows is how many windows one pass over the text has.
func (l lanes) windows() int { return max((len(l.ids)/l.rows-1)/l.width, 0) }

// window gives the characters [rows, width] of window i and, for each, the one that follows.
func (l lanes) window(i int) (x, next *mlx.Array) {
	length := len(l.ids) / l.rows
	a, b := make([]int32, 0, l.rows*l.width), make([]int32, 0, l.rows*l.width)
	for row := range l.rows {
		at := row*length + i*l.width
		a = append(a, l.ids[at:at+l.width]...)
		b = append(b, l.ids[at+1:at+1+l.width]...)
	}
	return mlx.New(a, l.rows, l.width), mlx.New(b, l.rows, l.width)
}
