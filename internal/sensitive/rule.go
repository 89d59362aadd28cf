package sensitive

// Rule says which values of an object are sensitive.
type Rule struct {
	Pointers []string
	// Headers are the names of headers, in any case; of sources.
	Headers []string
	// Namespace and Source are the source of a message that the task was made of, "" for none: its rule holds as well.
	Namespace, Source string
}

// Look is one look at what is sensitive.
type Look struct {
	Operation string // ID of the operation
	Object    string // path of the object
	TaskUUID  [16]byte
	CaseUUID  [16]byte
	Namespace string // of the object, "" if the answer is not about one
}

// InTask returns the pointers by which the rule of a source holds for the context of a task that was made of one of its
// messages: the context is the payload, or an object with the message in it.
func (r Rule) InTask() []string {
	pointers := append([]string{}, r.Pointers...)
	for _, pointer := range r.Pointers {
		pointers = append(pointers, "/payload"+pointer)
	}
	for _, name := range r.Headers {
		pointers = append(pointers, "/headers/"+escape.Replace(name))
	}
	return pointers
}
