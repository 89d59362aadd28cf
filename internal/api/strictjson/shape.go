package strictjson

import (
	"fmt"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// base64Format is the encoding of a text whose content is bytes.
const base64Format = "base64"

const int32Format = "int32"

type kind uint8

const (
	anyValue kind = iota
	object
	array
	text
	integer
	number
	boolean
	oneOf
)

// A Shape is a JSON schema prepared for checking: references are resolved and names are indexed. It covers the part of
// JSON Schema that the API's types produce. It is immutable after Compile and safe for concurrent use.
type Shape struct {
	kind kind

	fields []field        // of an object, sorted by name
	index  map[string]int // name to place in fields
	closed bool           // names outside fields are refused
	each   *Shape         // items of an array, values of a map; nil: anything

	minimum, maximum   *float64
	minLength, maxSize *int   // characters of a text, items of an array
	format             string // of a text or an integer; base64Format: the encoding of its content
	enum               []string
	alternatives       []*Shape
}

type field struct {
	name     string
	required bool
	shape    *Shape
}

// maxFields bounds an object: the checker keeps seen names in the bits of one word.
const maxFields = 64

// A Compiler makes shapes from the schemas of one registry, each component once. It is not safe for concurrent use.
type Compiler struct {
	registry huma.Registry
	known    map[string]*Shape
}

// NewCompiler returns a Compiler that looks up references in r.
func NewCompiler(r huma.Registry) *Compiler {
	return &Compiler{registry: r, known: map[string]*Shape{}}
}

// Compile panics on an unsupported schema: schemas come from Go types, so this happens at start-up only.
func (c *Compiler) Compile(s *huma.Schema) *Shape {
	if s.Ref != "" {
		if known, ok := c.known[s.Ref]; ok {
			return known
		}
		made := &Shape{}
		c.known[s.Ref] = made // before its fields, which may refer to it
		c.fill(made, c.registry.SchemaFromRef(s.Ref))
		return made
	}
	made := &Shape{}
	c.fill(made, s)
	return made
}

func (c *Compiler) fill(out *Shape, s *huma.Schema) {
	switch {
	case len(s.OneOf) > 0:
		out.kind = oneOf
		for _, alternative := range s.OneOf {
			out.alternatives = append(out.alternatives, c.Compile(alternative))
		}
	case s.Type == huma.TypeObject:
		c.fillObject(out, s)
	case s.Type == huma.TypeArray:
		out.kind, out.each = array, c.Compile(s.Items)
		out.minLength, out.maxSize = s.MinItems, s.MaxItems
	case s.Type == huma.TypeString:
		out.kind, out.format = text, s.Format
		if s.ContentEncoding == base64Format {
			out.format = base64Format
		}
		out.minLength, out.maxSize = s.MinLength, s.MaxLength
		for _, allowed := range s.Enum {
			out.enum = append(out.enum, fmt.Sprint(allowed))
		}
	case s.Type == huma.TypeInteger, s.Type == huma.TypeNumber:
		out.kind, out.minimum, out.maximum = number, s.Minimum, s.Maximum
		if s.Type == huma.TypeInteger {
			out.kind, out.format = integer, s.Format
		}
	case s.Type == huma.TypeBoolean:
		out.kind = boolean
	case s.Type == "":
		out.kind = anyValue
	default:
		panic(fmt.Sprintf("strictjson: cannot check a schema of type %q", s.Type))
	}
}

func (c *Compiler) fillObject(out *Shape, s *huma.Schema) {
	out.kind, out.index = object, map[string]int{}
	switch more := s.AdditionalProperties.(type) {
	case bool:
		out.closed = !more
	case *huma.Schema:
		out.each = c.Compile(more)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		out.index[name] = len(out.fields)
		out.fields = append(out.fields, field{name: name, shape: c.Compile(s.Properties[name])})
	}
	if len(out.fields) > maxFields {
		panic(fmt.Sprintf("strictjson: an object has %d properties, the checker takes %d", len(out.fields), maxFields))
	}
	for _, name := range s.Required {
		out.fields[out.index[name]].required = true
	}
}
