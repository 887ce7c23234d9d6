// Command graphrun-temporal is graphrun with the engine for Temporal clusters.
package main

import (
	"context"
	"os"

	"github.com/graphrun/graphrun/internal/cli"
	"github.com/graphrun/graphrun/temporal/internal/engine"
)

func main() {
	program := cli.System()
	program.Engine = func(s cli.EngineSettings) (cli.Engine, error) { return engine.Dial(s) }
	os.Exit(cli.Main(context.Background(), program))
}
