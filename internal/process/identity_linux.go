// Telling processes of a Linux machine apart.

package process

import (
	"fmt"
	"os"
	"strings"
)

// Place is the space of process numbers that this process sees: when the machine
// was started, and which of its spaces it is.
func Place() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return fmt.Sprintf("%.8s %s", boot, strings.Trim(space, "pid:[]"))
}

// Known reports whether Place tells spaces apart.
func Known() bool { return len(Place()) >= len("01234567 1") }

// State reads how a process is and when it began; "" if that can't be seen.
func State(pid int) (state, began string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	// The second field is a name in brackets, which may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return "", ""
	}
	return fields[0], fields[19]
}
