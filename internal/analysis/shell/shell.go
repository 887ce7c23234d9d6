// Package shell tells which arguments of a command a shell or another interpreter runs as
// code.
package shell

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// interpreter lists programs that run the code behind a flag: one of some letters, which may
// stand together, or a word.
type interpreter struct {
	programs []string
	letters  string
	words    []string
}

var interpreters = []interpreter{
	{programs: []string{"ash", "bash", "dash", "ksh", "sh", "zsh", "python", "python2", "python3"}, letters: "c"},
	{programs: []string{"fish"}, letters: "c", words: []string{"--command"}},
	{programs: []string{"pwsh", "powershell"}, letters: "c", words: []string{"-Command", "-command", "-EncodedCommand"}},
	{programs: []string{"ruby", "lua", "luajit", "osascript", "Rscript", "groovy", "elixir"}, letters: "e"},
	{programs: []string{"bun"}, letters: "e", words: []string{"--eval", "--print"}},
	{programs: []string{"node"}, letters: "ep", words: []string{"--eval", "--print"}},
	{programs: []string{"perl"}, letters: "eE"},
	{programs: []string{"php"}, letters: "r", words: []string{"--run"}},
}

// interpreterOf returns the interpreter of a program, without letters if it takes no code.
func interpreterOf(program string) interpreter {
	i := slices.IndexFunc(interpreters, func(in interpreter) bool { return slices.Contains(in.programs, program) })
	if i < 0 {
		return interpreter{}
	}
	return interpreters[i]
}

// wrappers are programs that run the command in their arguments, and which of their flags
// take a value.
var wrappers = map[string]string{
	"busybox": "", "nohup": "", "setsid": "", "doas": "uC", "env": "uCS", "exec": "a", "ionice": "cnp", "nice": "n",
	"stdbuf": "ioe", "sudo": "ugpCDhrtTU", "time": "fo", "timeout": "ks", "xargs": "aEdIiLlnPs",
}

// Code lists the positions of the arguments that run as code: the script in [sh, -c, script],
// also behind env or sudo, in a container or by find, and what ssh hands to a remote shell.
func Code(command *spec.Value) []spec.Span {
	if command == nil {
		return nil
	}
	return codeOf(command.Items)
}

func codeOf(args []spec.Value) []spec.Span {
	at := programIn(args)
	if at >= len(args) {
		return nil
	}
	name, rest := baseName(args[at].Text.Value), args[at+1:]
	switch name {
	case "ssh":
		return remoteCode(rest)
	case "su", "runuser":
		return behindFlag(rest)
	case "flock", "script":
		if innerCommand(name, rest) < 0 {
			return behindFlag(rest)
		}
	case "watch", "parallel":
		return allCode(rest)
	case "awk", "gawk", "mawk", "nawk":
		return awkCode(rest)
	case "deno":
		if len(rest) > 0 && rest[0].Text.Value == "eval" {
			return allCode(rest[1:])
		}
	}
	if i := innerCommand(name, rest); i >= 0 {
		return codeOf(rest[i:])
	}
	in := interpreterOf(name)
	for i := at + 1; i+1 < len(args) && in.letters != ""; i++ {
		flag := args[i].Text.Value
		if !strings.HasPrefix(flag, "-") {
			return nil
		}
		short := !strings.HasPrefix(flag, "--") && strings.ContainsAny(flag[len(flag)-1:], in.letters)
		if short || slices.Contains(in.words, flag) {
			return []spec.Span{args[i+1].Text.Span}
		}
	}
	return nil
}

// innerCommand returns where the command begins that a program runs in a container, a pod or
// another root, or for the files that find lists; -1 if there is none.
func innerCommand(program string, args []spec.Value) int {
	first := 0
	switch program {
	case "find":
		return behind(args, "-exec", "-execdir", "-ok", "-okdir")
	case "docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc":
		if first = behind(args, "exec", "run"); first < 0 {
			return -1
		}
	case "chroot", "nsenter", "unshare", "flock", "lxc-attach", "proot", "script", "strace":
	default:
		return -1
	}
	for i := first; i < len(args); i++ { // the first word that names a shell
		if interpreterOf(baseName(args[i].Text.Value)).letters != "" {
			return i
		}
	}
	return -1
}

// behind returns the index after the first of some words, or -1.
func behind(args []spec.Value, words ...string) int {
	i := slices.IndexFunc(args, func(a spec.Value) bool { return slices.Contains(words, a.Text.Value) })
	if i < 0 {
		return -1
	}
	return i + 1
}

// behindFlag returns the argument behind -c.
func behindFlag(args []spec.Value) []spec.Span {
	i := behind(args, "-c", "--command")
	if i < 0 {
		return nil
	}
	return allCode(args[i:min(i+1, len(args))])
}

func allCode(args []spec.Value) []spec.Span {
	var out []spec.Span
	for _, a := range args {
		out = append(out, a.Text.Span)
	}
	return out
}

// skipFlags returns the index behind the flags of a program. Some letters take a value.
func skipFlags(args []spec.Value, valued string) int {
	i := 0
	for i < len(args) && strings.HasPrefix(args[i].Text.Value, "-") {
		if flag := args[i].Text.Value; len(flag) == 2 && strings.Contains(valued, flag[1:]) {
			i++
		}
		i++
	}
	return min(i, len(args))
}

// awkCode returns the program of awk, the first argument behind its flags, unless a file
// holds it.
func awkCode(args []spec.Value) []spec.Span {
	first := skipFlags(args, "Fv")
	inFile := func(flag spec.Value) bool {
		return strings.HasPrefix(flag.Text.Value, "-f") || strings.HasPrefix(flag.Text.Value, "--file")
	}
	if slices.ContainsFunc(args[:first], inFile) {
		return nil
	}
	return allCode(args[first:min(first+1, len(args))])
}

// remoteCode returns the arguments behind the host.
func remoteCode(args []spec.Value) []spec.Span {
	host := skipFlags(args, "BbcDEeFIiJLlmOopQRSWw")
	return allCode(args[min(host+1, len(args)):])
}

// programIn returns the index of the program that a command ends up running.
func programIn(args []spec.Value) int {
	at := 0
	for at < len(args) {
		name := baseName(args[at].Text.Value)
		valued, wraps := wrappers[name]
		if !wraps {
			return at
		}
		at++
		at += skipFlags(args[at:], valued)
		for name == "env" && at < len(args) && strings.Contains(args[at].Text.Value, "=") {
			at++
		}
		if name == "timeout" {
			at++ // how long
		}
	}
	return at
}

func baseName(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if strings.HasPrefix(name, "python3.") {
		return "python3"
	}
	return name
}
