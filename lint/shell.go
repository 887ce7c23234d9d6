// Which arguments of a command are code.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// codeFlags are the programs that run one of their arguments as code, with the
// flag before it; several letters may stand together.
func codeFlags() map[string]string {
	out := map[string]string{"node": "ep", "perl": "eE", "php": "r", "python": "c", "python2": "c", "python3": "c", "ruby": "e", "bun": "e"}
	for _, shell := range []string{"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"} {
		out[shell] = "c"
	}
	return out
}

// wrappers are the programs that run the command in their arguments, with those
// of their flags that take a value.
func wrappers() map[string]string {
	return map[string]string{
		"busybox": "", "doas": "uC", "env": "uCS", "exec": "a", "ionice": "cnp", "nice": "n", "nohup": "", "setsid": "", "stdbuf": "ioe", "sudo": "ugpCDhrtTU", "time": "fo", "timeout": "ks", "xargs": "aEdIiLlnPs",
	}
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
	letters := codeFlags()[name]
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
		valued, wraps := wrappers()[name]
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
