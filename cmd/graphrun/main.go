// Command graphrun runs, checks and draws graphs. `graphrun help` lists what it does.
package main

import (
	"context"
	"os"

	"github.com/graphrun/graphrun/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.System()))
}
