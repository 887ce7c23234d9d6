// Jobs of Windows: children of a program belong to its job and end with it.

package process

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is the job of a program. This process has the only handle, so the system ends the job
// when this process ends. Children that start before the program is in the job escape. It is
// safe for concurrent use.
type group struct {
	mu  sync.Mutex
	job windows.Handle // 0: it has none
}

// OwnGroup lets the program receive a request to end, and shields it from Ctrl-C.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func (g *group) adopt(cmd *exec.Cmd) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	if setLimits(job, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE) != nil || assignJob(job, cmd.Process.Pid) != nil {
		_ = windows.CloseHandle(job)
		return
	}
	g.job = job
}

func assignJob(job windows.Handle, pid int) error {
	program, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(program)
	return windows.AssignProcessToJobObject(job, program)
}

func setLimits(job windows.Handle, flags uint32) error {
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: flags},
	}
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return err
}

// terminate asks the program to end, or ends it if it has no console.
func (g *group) terminate(cmd *exec.Cmd) {
	if windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(cmd.Process.Pid)) != nil {
		g.kill(cmd)
	}
}

func (g *group) kill(cmd *exec.Cmd) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
	_ = cmd.Process.Kill()
}

func (g *group) isAlive(*exec.Cmd) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	var info struct {
		UserTime, KernelTime, PeriodUserTime, PeriodKernelTime int64
		PageFaults, Processes, Active, Terminated              uint32
	}
	return g.job != 0 && windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil) == nil && info.Active > 0
}

// release lets the remaining processes continue.
func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = setLimits(g.job, 0)
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}

// ExitStatus returns the exit code.
func ExitStatus(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }

// newWatchdog returns nil: jobs need none.
func newWatchdog() *watchdog { return nil }

func (w *watchdog) notify(string, int) {}

func (w *watchdog) close() {}
