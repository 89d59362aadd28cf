// Package expr compiles and evaluates the expressions of templates: conditions, lists and values over the context of a
// task and the results of its steps. No other package imports their language.
//
// An expression reads paths of JSON values: context.customer.tier, parents.charge.result.amount, parents.charge.state,
// context.items[0], context["a member"]. A path that finds nothing is null, at any depth. An expression has no loops,
// no variables and no functions besides len and has, so its work is bounded by its length and the size of the values
// that it reads. The same values have the same result on every node.
//
//   - == and != compare any two values; numbers by value, lists and objects member by member;
//   - <, <=, > and >= compare two numbers or two strings; anything else is an error;
//   - &&, ||, ! and the condition of ?: take true and false; anything else, also null, is an error;
//   - a in b looks for an element of a list or a member of an object; nothing is in null;
//   - has(x) reports whether x is not null; len(x) is the number of elements, members or characters, 0 for null;
//   - a ?? b is b where a is null; +, -, *, / and % calculate with numbers; + joins strings; contains, startsWith and
//     endsWith look into a string.
//
// Numbers are exact decimals: nothing is rounded but a quotient without an end, nothing wraps around, and what is too
// large to calculate with is an error. A value that an expression only passes on is the same bytes as in its document.
//
// Begin with compile.go. decode.go has what a value is, number.go how numbers are compared and calculated with, safe.go
// and operators.go what takes the place of the language's own operators.
package expr
