package failure

import "strings"

// topFrame returns the top frame of the application's own code in the text of a stack, as "function (file)", and the
// line that it stands in. Frames of runtimes and libraries are passed over; without one of its own code the frame is
// "". Line numbers, addresses and counters of compilers do not count.
//
// It reads the formats of Go, Java, Kotlin, Scala, .NET, JavaScript, Ruby and Python, and decides line by line: a stack
// may hold several languages, or text of a logger around it.
func topFrame(stack string) (frame, line string) {
	head := stack[:min(len(stack), looked)]
	// Python writes the top frame last.
	if i := strings.Index(head, `  File "`); i >= 0 && (i == 0 || head[i-1] == '\n') {
		return pythonFrame(stack[max(len(stack)-looked, 0):])
	}
	var before string // the line before, which names the function in Go
	for len(head) > 0 {
		line, head = nextLine(head)
		if f := parseFrame(line, before); f.function != "" || f.file != "" {
			if text := f.text(); text != "" {
				return text, line
			}
		}
		before = line
	}
	return "", ""
}

// nextLine cuts the first line off a text.
func nextLine(s string) (line, rest string) {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return strings.TrimSuffix(s[:i], "\r"), s[i+1:]
	}
	return s, ""
}

// frameOf is a frame as a language writes it. The zero value is a line that is no frame.
type frameOf struct {
	function string
	file     string // path
	foreign  bool   // of a runtime or a library
}

// foreign are parts of the paths of runtimes and libraries. The first frame outside them is where an owner of the
// application looks first.
var foreign = []string{"/site-packages/", "/dist-packages/", "/node_modules/", "/usr/lib/", "/usr/local/lib/",
	"/lib/python", "/pkg/mod/", "/vendor/", "/go/src/", "/gems/", "/lib/ruby/", "/rustc/", "/.cargo/"}

// text returns the frame in one line, or "" for one of a runtime or a library. Of the path only the last part is kept:
// directories differ between machines and builds.
func (f frameOf) text() string {
	file := strings.ReplaceAll(f.file, `\`, "/")
	if f.foreign || strings.HasPrefix(f.file, "<") || strings.HasPrefix(f.file, "node:") ||
		strings.HasPrefix(f.file, "internal/") {
		return ""
	}
	for _, part := range foreign {
		if strings.Contains(file, part) {
			return ""
		}
	}
	// Bundlers add a query to the names of files.
	if i := strings.IndexAny(file, "?#"); i >= 0 {
		file = file[:i]
	}
	function, base := stable(f.function), stable(file[strings.LastIndexByte(file, '/')+1:])
	switch {
	case base == "":
		return plain(function)
	case function == "":
		return plain(base)
	}
	return plain(function + " (" + base + ")")
}

// parseFrame reads a line of a stack; one that is no frame gives the zero frame. before is the line before it.
func parseFrame(line, before string) frameOf {
	text := strings.TrimLeft(line, " \t")
	switch {
	case line != text && line[0] == '\t' && strings.Contains(text, ".go:"):
		return goFrame(text, before)
	case strings.HasPrefix(text, "at "):
		return atFrame(text[3:])
	case strings.Contains(text, ".rb:") || strings.HasPrefix(text, "from "):
		return rubyFrame(strings.TrimPrefix(text, "from "))
	}
	return frameOf{}
}

// goFrame reads the two lines of a frame of Go: the function with its arguments, then the file behind a tab. before is
// the first of them.
func goFrame(text, before string) frameOf {
	file := text[:strings.Index(text, ".go:")+len(".go")]
	function := strings.TrimPrefix(before, "created by ")
	if i := strings.Index(function, " in goroutine "); i >= 0 {
		function = function[:i]
	}
	if strings.HasSuffix(function, ")") { // the arguments; a receiver stands in parentheses, too
		if i := strings.LastIndexByte(function, '('); i > 0 {
			function = function[:i]
		}
	}
	// The rest of the standard library is known by where its files are. The text of a Go stack names these packages
	// without a path.
	standard := strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "runtime/") || function == "panic"
	path := function[strings.LastIndexByte(function, '/')+1:]
	return frameOf{function: path, file: file, foreign: standard}
}

// atFrame reads what follows "at" in a frame of Java, JavaScript or .NET. What stands in the parentheses tells them
// apart: a place with line numbers, a file with an extension of Java's family, or types of parameters.
func atFrame(text string) frameOf {
	if i := strings.Index(text, ") in "); i >= 0 { // .NET, with the source
		file := text[i+len(") in "):]
		if j := strings.LastIndex(file, ":line "); j >= 0 {
			file = file[:j]
		}
		return dotNet(text[:i], file)
	}
	open := strings.LastIndexByte(text, '(')
	if open < 0 || !strings.HasSuffix(text, ")") {
		if i := strings.LastIndexByte(text, ':'); i > 0 && i+1 < len(text) && isDigit(text[i+1]) {
			return frameOf{file: withoutLine(strings.TrimPrefix(text, "async "))} // JavaScript, without a function
		}
		return frameOf{}
	}
	inside := text[open+1 : len(text)-1]
	switch {
	case open > 0 && text[open-1] == ' ' && (inside == "<anonymous>" || inside == "native"):
		return frameOf{function: text, foreign: true}
	case open > 0 && text[open-1] == ' ':
		function := strings.TrimPrefix(strings.TrimPrefix(text[:open-1], "async "), "new ")
		if i := strings.Index(function, " ["); i > 0 { // [as name]
			function = function[:i]
		}
		if file := withoutLine(inside); file != inside {
			return frameOf{function: function, file: file}
		}
		return frameOf{}
	case strings.Contains(inside, ".java") || strings.Contains(inside, ".kt") || strings.Contains(inside, ".scala") ||
		strings.Contains(inside, ".groovy") || inside == "Native Method" || inside == "Unknown Source" ||
		inside == "<generated>":
		return java(text[:open], inside)
	}
	return dotNet(text[:strings.IndexByte(text, '(')], "")
}

// withoutLine removes line and column from the end of a place, and the scheme from its beginning.
func withoutLine(place string) string {
	for range 2 {
		i := strings.LastIndexByte(place, ':')
		if i < 0 || i+1 == len(place) || !digitsOnly(place[i+1:]) {
			break
		}
		place = place[:i]
	}
	return strings.TrimPrefix(place, "file://")
}

// libraries are the beginnings of the names of Java's and .NET's own packages and of widespread libraries.
var libraries = []string{"java.", "javax.", "jdk.", "sun.", "com.sun.", "jakarta.", "kotlin.", "kotlinx.", "scala.",
	"groovy.", "org.springframework.", "org.apache.", "org.hibernate.", "org.junit.", "org.eclipse.", "org.slf4j.",
	"io.netty.", "reactor.", "io.reactivex.", "com.fasterxml.", "com.google.common.", "com.zaxxer.", "com.rabbitmq."}

// dotNetLibraries is the same for .NET, whose frames often have no file.
var dotNetLibraries = []string{"System.", "Microsoft.", "Newtonsoft.", "Npgsql.", "RabbitMQ.", "MassTransit."}

// java reads the name of a method and what stands in its parentheses. Generated code is foreign.
func java(function, inside string) frameOf {
	function = function[strings.LastIndexByte(function, '/')+1:] // module and class loader
	file, _, _ := strings.Cut(inside, ":")
	if strings.Contains(file, " ") {
		file = ""
	}
	return frameOf{function: function, file: file,
		foreign: begins(function, libraries) || inside == "<generated>"}
}

// dotNet reads the name of a method, with or without its parameters, and its file, "" for none. A name without a point
// is no method of .NET.
func dotNet(function, file string) frameOf {
	if i := strings.IndexByte(function, '('); i >= 0 {
		function = function[:i]
	}
	if !strings.Contains(function, ".") || strings.Contains(function, " ") {
		return frameOf{}
	}
	return frameOf{function: function, file: file, foreign: begins(function, dotNetLibraries)}
}

// begins reports whether a text begins with one of several.
func begins(s string, with []string) bool {
	for _, w := range with {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}

// rubyFrame reads path:line:in 'method'. Older versions open the quote with a backtick; a line without "in" is
// top-level code.
func rubyFrame(text string) frameOf {
	i := strings.Index(text, ":in ")
	if i < 0 {
		i = len(text)
	}
	place := withoutLine(text[:i])
	if place == text[:i] {
		return frameOf{}
	}
	function := ""
	if i < len(text) {
		function = strings.TrimLeft(text[i+len(":in "):], "`'")
		if j := strings.IndexByte(function, '\''); j >= 0 {
			function = function[:j]
		}
		function = strings.TrimPrefix(function, "block in ")
	}
	return frameOf{function: function, file: place}
}

// pythonFrame returns the last frame of the application in the end of a stack of Python. It goes from the end, because
// Python writes the innermost call last.
func pythonFrame(stack string) (frame, line string) {
	for {
		i := strings.LastIndex(stack, `  File "`)
		if i < 0 {
			return "", ""
		}
		line, _ = nextLine(stack[i+2:])
		stack = stack[:i]
		file, rest, _ := strings.Cut(line[len(`File "`):], `"`)
		_, function, _ := strings.Cut(rest, ", in ")
		if text := (frameOf{function: function, file: file}).text(); text != "" {
			return text, line
		}
	}
}

// stable removes what compilers and bundlers count or hash in a name: type arguments of Go, digits after $, __, a point
// and "func", hashes, and what follows $$. Without it each build of the same code would make new groups.
func stable(name string) string {
	name = strings.ReplaceAll(name[:min(len(name), 4*maxPart)], "[...]", "")
	if i := strings.Index(name, "$$"); i > 0 {
		name = name[:i]
	}
	var out []byte
	for i := 0; i < len(name); {
		start := i
		for i < len(name) && isAlnum(name[i]) {
			i++
		}
		if i == start {
			out = append(out, name[i])
			i++
			continue
		}
		word := name[start:i]
		switch {
		case counted(out) && digitsOnly(word), isHash(word):
		case strings.HasPrefix(word, "func") && digitsOnly(word[4:]):
			out = append(out, "func"...)
		default:
			out = append(out, word...)
		}
	}
	return strings.TrimRight(strings.ReplaceAll(string(out), "..", "."), ".$_")
}

// counted reports whether a number behind a name is a counter of a compiler.
func counted(name []byte) bool {
	s := string(name[max(len(name)-2, 0):])
	return strings.HasSuffix(s, "$") || strings.HasSuffix(s, ".") || s == "__"
}

// digitsOnly reports whether a text has nothing but digits; true for "".
func digitsOnly(s string) bool { return strings.Trim(s, "0123456789") == "" }

// isHash reports whether a word is 8 or more hexadecimal digits, letters and digits mixed.
func isHash(word string) bool {
	digits := 0
	for i := range len(word) {
		if !isHex(word[i]) {
			return false
		}
		if isDigit(word[i]) {
			digits++
		}
	}
	return len(word) >= 8 && digits > 0
}
