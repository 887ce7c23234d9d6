// Command server is a job server for the polling example: jobs that take three
// polls, and a result that is not there at once.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/graphrun/graphrun/examples/polling/server/jobs"
)

func main() {
	address := flag.String("address", "127.0.0.1:8910", "where to listen")
	flag.Parse()
	fmt.Println("graphrun run examples/polling/flow.yaml -i server=http://" + *address)
	if err := http.ListenAndServe(*address, jobs.New()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
