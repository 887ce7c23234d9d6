// Owners of leases that are processes of this machine.

package sqlite

import (
	"fmt"
	"os"
)

// ThisProcess names this process as the owner of leases, so that Gone can tell
// when it has ended.
func ThisProcess() string { return named(os.Getpid()) }

func named(pid int) string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return fmt.Sprintf("process %d on %s (%s)", pid, host, mark(pid))
}

// Gone says that an owner named by ThisProcess has ended for certain: it was a
// process of this machine since it was started, and is none now. Of others
// nothing is known, and false is returned.
func Gone(owner string) bool {
	var pid int
	if n, err := fmt.Sscanf(owner, "process %d on", &pid); n != 1 || err != nil || pid <= 0 {
		return false
	}
	return gone(pid, owner)
}
