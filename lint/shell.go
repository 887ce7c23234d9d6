// Which arguments of a command are code.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// codeFlags are the letters of the flag before the code that a program runs;
// several may stand together. "" for a program that takes no code.
func codeFlags(program string) string {
	switch program {
	case "ash", "bash", "dash", "fish", "ksh", "sh", "zsh", "python", "python2", "python3":
		return "c"
	case "ruby", "bun":
		return "e"
	case "node":
		return "ep"
	case "perl":
		return "eE"
	case "php":
		return "r"
	}
	return ""
}

// wrapper reports whether a program runs the command in its arguments, and which
// of its flags take a value.
func wrapper(program string) (valued string, ok bool) {
	switch program {
	case "busybox", "nohup", "setsid":
		return "", true
	case "doas":
		return "uC", true
	case "env":
		return "uCS", true
	case "exec":
		return "a", true
	case "ionice":
		return "cnp", true
	case "nice":
		return "n", true
	case "stdbuf":
		return "ioe", true
	case "sudo":
		return "ugpCDhrtTU", true
	case "time":
		return "fo", true
	case "timeout":
		return "ks", true
	case "xargs":
		return "aEdIiLlnPs", true
	}
	return "", false
}

// codeIn lists the arguments of a command that are run as code: the script in
// [sh, -c, script], also behind env, sudo and the like, and what ssh hands to
// the shell of another host.
func codeIn(command *spec.Value) []spec.Span {
	if command == nil {
		return nil
	}
	args := command.Items
	at := programIn(args)
	if at >= len(args) {
		return nil
	}
	name := baseName(args[at].Text.Value)
	if name == "ssh" {
		return remoteCode(args[at+1:])
	}
	letters := codeFlags(name)
	for i := at + 1; i+1 < len(args) && letters != ""; i++ {
		flag := args[i].Text.Value
		if !strings.HasPrefix(flag, "-") {
			return nil
		}
		if !strings.HasPrefix(flag, "--") && strings.ContainsAny(flag[len(flag)-1:], letters) {
			return []spec.Span{args[i+1].Text.Span}
		}
	}
	return nil
}

// remoteCode is all that comes after the host.
func remoteCode(args []spec.Value) []spec.Span {
	const valued = "BbcDEeFIiJLlmOopQRSWw"
	i := 0
	for i < len(args) && strings.HasPrefix(args[i].Text.Value, "-") {
		if arg := args[i].Text.Value; len(arg) == 2 && strings.Contains(valued, arg[1:]) {
			i++
		}
		i++
	}
	var out []spec.Span
	for i++; i < len(args); i++ {
		out = append(out, args[i].Text.Span)
	}
	return out
}

// programIn is the place of the program that a command ends up running.
func programIn(args []spec.Value) int {
	at := 0
	for at < len(args) {
		name := baseName(args[at].Text.Value)
		valued, wraps := wrapper(name)
		if !wraps {
			return at
		}
		at++
		for at < len(args) && isOption(name, args[at].Text.Value) {
			if arg := args[at].Text.Value; len(arg) == 2 && strings.Contains(valued, arg[1:]) {
				at++ // its value
			}
			at++
		}
		if name == "timeout" {
			at++ // how long
		}
	}
	return at
}

// isOption reports whether an argument belongs to a wrapper itself.
func isOption(wrapper, arg string) bool {
	return strings.HasPrefix(arg, "-") || wrapper == "env" && strings.Contains(arg, "=")
}

func baseName(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if strings.HasPrefix(name, "python3.") {
		return "python3"
	}
	return name
}
