// Package chaos disturbs runs of random flows in every way that a machine and its
// people do: signals to drivers and to their programs, stops, a full disk, a locked
// store, a clock that is set, answers, resumes, cancels and pauses by several
// processes at once. After each trial nothing may be lost, done twice or left over,
// and the run has come to the end that it comes to when nobody disturbs it.
package chaos
