// Package shell finds the arguments of a command that an interpreter runs as code.
package shell

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// interpreters lists programs that run the code after a flag, with the letters of such flags.
var interpreters = []struct {
	letters  string
	programs []string
}{
	{"c", []string{"ash", "bash", "dash", "fish", "ksh", "sh", "zsh", "python", "python2", "python3", "pwsh", "powershell"}},
	{"e", []string{"bun", "elixir", "groovy", "lua", "luajit", "osascript", "Rscript", "ruby"}},
	{"ep", []string{"node"}},
	{"eE", []string{"perl"}},
	{"r", []string{"php"}},
}

// codeFlags are the flags of interpreters that are whole words.
var codeFlags = []string{"--command", "--eval", "--print", "--run", "-Command", "-command", "-EncodedCommand"}

// wrappers are programs that run the command in their arguments.
var wrappers = []string{"doas", "env", "nice", "nohup", "sudo", "time", "timeout", "xargs"}

// FindCode lists the positions of the arguments that run as code, such as the script in [sh, -c, script]
// or [sudo, sh, -c, script], and all that ssh hands to a remote shell.
func FindCode(command *spec.Value) (out []spec.Span) {
	if command == nil {
		return nil
	}
	for i := range command.Items {
		args := command.Items[i:]
		code := findScript(args)
		if code == nil && (i == 0 || slices.Contains(wrappers, baseName(command.Items[0]))) {
			code = findToolScript(args)
		}
		for _, arg := range code {
			out = append(out, arg.Text.Span)
		}
		if out != nil {
			return out
		}
	}
	return nil
}

// findToolScript returns the code that a tool at the beginning of arguments runs.
func findToolScript(args []spec.Value) []spec.Value {
	rest := args[1:]
	switch baseName(args[0]) {
	case "ssh": // all arguments after the host
		host := indexAfterFlags(rest, "BbcDEeFIiJLlmOopQRSWw")
		return rest[min(host+1, len(rest)):]
	case "su", "runuser", "flock", "script":
		isCommand := func(arg spec.Value) bool { return arg.Text.Value == "-c" || arg.Text.Value == "--command" }
		if i := slices.IndexFunc(rest, isCommand); i >= 0 {
			return rest[i+1 : min(i+2, len(rest))]
		}
	case "watch", "parallel":
		return rest
	case "awk", "gawk", "mawk", "nawk": // the first argument after the flags, unless a file holds the program
		first := indexAfterFlags(rest, "Fv")
		isFile := func(arg spec.Value) bool {
			return strings.HasPrefix(arg.Text.Value, "-f") || strings.HasPrefix(arg.Text.Value, "--file")
		}
		if !slices.ContainsFunc(rest[:first], isFile) {
			return rest[first:min(first+1, len(rest))]
		}
	case "deno":
		if len(rest) > 0 && rest[0].Text.Value == "eval" {
			return rest[1:]
		}
	}
	return nil
}

// findScript returns the code that an interpreter at the beginning of arguments runs.
func findScript(args []spec.Value) []spec.Value {
	for _, in := range interpreters {
		if !slices.Contains(in.programs, baseName(args[0])) {
			continue
		}
		for i := 1; i+1 < len(args) && strings.HasPrefix(args[i].Text.Value, "-"); i++ {
			flag := args[i].Text.Value
			isShort := !strings.HasPrefix(flag, "--") && strings.ContainsAny(flag[len(flag)-1:], in.letters)
			if isShort || slices.Contains(codeFlags, flag) {
				return args[i+1 : i+2]
			}
		}
	}
	return nil
}

// indexAfterFlags returns the index after the flags of a program. valued lists flags with a value.
func indexAfterFlags(args []spec.Value, valued string) int {
	i := 0
	for ; i < len(args) && strings.HasPrefix(args[i].Text.Value, "-"); i++ {
		if flag := args[i].Text.Value; len(flag) == 2 && strings.Contains(valued, flag[1:]) {
			i++
		}
	}
	return min(i, len(args))
}

// baseName returns the name of a program without its folder.
func baseName(program spec.Value) string {
	path := program.Text.Value
	name := path[strings.LastIndexByte(path, '/')+1:]
	if strings.HasPrefix(name, "python3.") {
		return "python3"
	}
	return name
}
