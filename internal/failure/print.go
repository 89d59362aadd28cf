package failure

// Print is a fingerprint with its parts: failures of one cause have the same. A part that is not known is "".
type Print struct {
	// Version is that of the rules by which the parts were derived.
	Version int
	// Type is the type, or the code, of the error.
	Type string
	// Message is the first line of the message, in which marks stand for the parts that vary: numbers, identifiers,
	// times, addresses, paths, quoted text.
	Message string
	// Frame is the top frame of the application's own code.
	Frame string
	// Where is the handler, or else the source.
	Where string
	// Rule is the name of the rule that decided; then the other parts only explain. "" when none did.
	Rule string
}

// Part is one part of a fingerprint, and the text that it was derived from.
type Part struct {
	Name  string // type, message, frame, where or rule
	Value string
	From  string // cut to 512 bytes
}
