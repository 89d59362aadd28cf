// Package chart draws the dashboard's charts and graphs as SVG at the server: sparklines, series over time, shares,
// waves of a redrive, graphs of workflows and of letters, and timelines of attempts.
//
// Every function is pure: the same input gives the same bytes, time is an argument, and nothing is kept between calls.
// Calls may run at the same time. Text may be hostile: it is escaped, freed of control characters and of marks that
// change its direction, and cut to the room that it has. Links must begin with one slash, a question mark or a number
// sign; others are omitted. The output has no style attributes, scripts or addresses of other hosts, so it is allowed
// by a content security policy without unsafe-inline. Attributes give geometry only; colours are the stylesheet's.
//
// # Classes
//
// Every drawing is an <svg class="chart NAME"> with a viewBox and its natural width and height in pixels, where NAME is
// spark, series, shares, waves, graph or timeline.
//
//	axis        text of an axis; grid and base are its lines
//	value       a number that is written into a drawing
//	bar         a bucket of a sparkline; peak is the highest one
//	line, area  a line of a series and the area below it, with s1 to s6 for its place
//	share       a part of a bar of shares, with s1 to s6, or with the class of the part
//	hit         transparent area of a bucket, which shows its title to a pointer
//	wave        a wave of a redrive: size is its frame, and sent, completed, returned and failed are its parts
//	edge        lines between nodes; met when what they wait for has ended well, critical on the critical path;
//	            tip is the arrowhead, and far is an edge without room for bends
//	node        a node of a graph, with the class of its Mark, critical on the critical path and current for the node
//	            that the page is about; box, glyph, name and sub are its parts
//	row         a row of a timeline; name and sub are its texts, and track is its background
//	wait, run, backoff  segments of a timeline: a thin bar, a full bar and a hatched bar, with the class of the Mark;
//	            open is one that has not ended, now is the line at the present
//	hatch       the lines of the hatching of back-off and of returned letters
//
// The classes of a Mark are its values: pending, ready, held, running, deciding, retry, complete, error, cancelled,
// resolved. Marks differ in shape, not only in colour. Shapes are drawn with currentColor.
//
// # Pan and zoom
//
// A script pans and zooms a graph when it changes the viewBox of svg.graph; data-width and data-height keep the size of
// the whole. Node number i is the element ID-i with data-node="i"; the lines that leave it have data-from="i", and
// lines that are gathered before they reach it have data-to="i".
//
// # Reading
//
// svg.go writes elements and text. A graph passes through acyclic.go, layers.go, order.go and place.go, and graph.go
// draws it.
package chart
