# Handles greet: the step comes as JSON on standard input, with the context of the task as "parameters"; the result goes
# as JSON to standard output. Exit code 65 is final, most others are tried again as the template says.
set -eu
name=$(sed -n 's/.*"parameters":{"name":"\([^"]*\)".*/\1/p')
if [ -z "$name" ]; then
  echo 'the context has no name' >&2
  exit 65
fi
printf '{"text": "Hello, %s!"}\n' "$name"
