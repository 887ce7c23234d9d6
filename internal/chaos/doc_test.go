// Package chaos disturbs runs of random flows in the ways that happen on a real machine: signals to
// drivers and their programs, stops, a full disk, a locked store, a clock that is set, and answers,
// resumes, cancels and pauses from several processes at once. After each trial nothing may be lost,
// done twice or left over, and the run must have the same result as without disturbances.
package chaos
