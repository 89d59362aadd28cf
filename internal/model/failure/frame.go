package failure

import "strings"

// topFrame returns the top frame of the application's own code as "function (file)", and its line; "" without one.
// It skips frames of runtimes and libraries, and drops line numbers, addresses and counters of compilers.
//
// It reads Go, Java, Kotlin, Scala, .NET, JavaScript, Ruby and Python, line by line: a stack can mix languages and
// log text.
func topFrame(stack string) (frame, line string) {
	head := stack[:min(len(stack), looked)]
	// Python writes the top frame last.
	if i := strings.Index(head, `  File "`); i >= 0 && (i == 0 || head[i-1] == '\n') {
		return pythonFrame(stack[max(len(stack)-looked, 0):])
	}
	var before string // the previous line, which names the function in Go
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

func nextLine(s string) (line, rest string) {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return strings.TrimSuffix(s[:i], "\r"), s[i+1:]
	}
	return s, ""
}

// frameOf is one parsed frame; the zero value is no frame.
type frameOf struct {
	function string
	file     string // path
	foreign  bool   // of a runtime or a library
}

// foreign are parts of the paths of runtimes and libraries.
var foreign = []string{"/site-packages/", "/dist-packages/", "/node_modules/", "/usr/lib/", "/usr/local/lib/",
	"/lib/python", "/pkg/mod/", "/vendor/", "/go/src/", "/gems/", "/lib/ruby/", "/rustc/", "/.cargo/"}

// text keeps only the last part of the path: directories differ between machines and builds. A foreign frame is "".
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

// parseFrame reads a line of a stack; before is the previous line.
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

// goFrame reads a function with its arguments (before) and the file behind a tab (text).
func goFrame(text, before string) frameOf {
	file := text[:strings.Index(text, ".go:")+len(".go")]
	function := strings.TrimPrefix(before, "created by ")
	if i := strings.Index(function, " in goroutine "); i >= 0 {
		function = function[:i]
	}
	if strings.HasSuffix(function, ")") { // the arguments; a receiver is in parentheses, too
		if i := strings.LastIndexByte(function, '('); i > 0 {
			function = function[:i]
		}
	}
	// Go stacks name these packages without a path; the path of the file identifies the rest of the standard
	// library.
	standard := strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "runtime/") || function == "panic"
	path := function[strings.LastIndexByte(function, '/')+1:]
	return frameOf{function: path, file: file, foreign: standard}
}

// atFrame reads the text after "at" in Java, JavaScript or .NET. The parentheses tell them apart: a place with line
// numbers, a file with a JVM extension, or parameter types.
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

// withoutLine removes line and column from the end, and the scheme from the beginning.
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

// libraries are package prefixes of the JVM and of widespread libraries.
var libraries = []string{"java.", "javax.", "jdk.", "sun.", "com.sun.", "jakarta.", "kotlin.", "kotlinx.", "scala.",
	"groovy.", "org.springframework.", "org.apache.", "org.hibernate.", "org.junit.", "org.eclipse.", "org.slf4j.",
	"io.netty.", "reactor.", "io.reactivex.", "com.fasterxml.", "com.google.common.", "com.zaxxer.", "com.rabbitmq."}

// dotNetLibraries are namespace prefixes of .NET, whose frames often have no file.
var dotNetLibraries = []string{"System.", "Microsoft.", "Newtonsoft.", "Npgsql.", "RabbitMQ.", "MassTransit."}

// java reads a method name and the text in its parentheses. Generated code is foreign.
func java(function, inside string) frameOf {
	function = function[strings.LastIndexByte(function, '/')+1:] // module and class loader
	file, _, _ := strings.Cut(inside, ":")
	if strings.Contains(file, " ") {
		file = ""
	}
	return frameOf{function: function, file: file,
		foreign: begins(function, libraries) || inside == "<generated>"}
}

// dotNet reads a method name and its file, "" for none. A .NET method has a point in its name.
func dotNet(function, file string) frameOf {
	if i := strings.IndexByte(function, '('); i >= 0 {
		function = function[:i]
	}
	if !strings.Contains(function, ".") || strings.Contains(function, " ") {
		return frameOf{}
	}
	return frameOf{function: function, file: file, foreign: begins(function, dotNetLibraries)}
}

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

// pythonFrame searches backwards, because Python writes the innermost call last.
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

// stable removes counters and hashes of compilers and bundlers from a name, which would make new groups with each
// build: type arguments of Go, digits after $, __, a point and "func", hashes, and all behind $$.
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

func counted(name []byte) bool {
	s := string(name[max(len(name)-2, 0):])
	return strings.HasSuffix(s, "$") || strings.HasSuffix(s, ".") || s == "__"
}

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
