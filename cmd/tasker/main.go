// Command tasker is the Tasker server, worker and operator's tool in one binary. It also works
// under the name tasker-cli.
//
// Everything is in internal/cli; this file only passes arguments, standard streams and the exit
// code. "tasker --help" lists the commands.
package main

import (
	"os"

	"github.com/taskerhq/tasker/internal/cli"
)

// version is set by the linker in a release (-X main.version=v1.2.3). Without
// it the version comes from the module that was built.
var version string

func main() {
	os.Exit(cli.Main(version))
}
