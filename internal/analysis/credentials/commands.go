// Passwords that programs are given as arguments or by assignments in a script.

package credentials

import (
	"regexp"
	"strings"
	"sync"
)

// passwords match a program of a script with a password, the last group.
var passwords = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`\b(?:curl|wget)\b[^\n|;&]*?\s(?:-u|--user)[ =]?["']?[^\s:'"{$]+:([^\s'"{$]+)`),
		regexp.MustCompile(`\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]*?\s(?:-p|--password=)["']?([^\s'"{$]+)`),
		regexp.MustCompile(`\bsshpass\s+-p\s*["']?([^\s'"{$]+)`),
		regexp.MustCompile(`(?:^|[\s;&(])(?:export\s+)?[A-Z_]*PASS(?:WORD|WD)=["']?([^\s'"{$;]+)`),
	}
})

// InScript finds the password that a script gives a program; to is 0 when there is none.
func InScript(script string) (from, to int) {
	for _, pattern := range passwords() {
		for _, at := range pattern.FindAllStringSubmatchIndex(script, -1) {
			if word := script[at[2]:at[3]]; len(word) >= 4 && !isPlaceholder(word) {
				return at[2], at[3]
			}
		}
	}
	return 0, 0
}

// InCommand finds the argument of a command that holds a password, as InScript does.
func InCommand(args []string) (index, from, to int) {
	line := strings.Join(args, "\x00")
	spaced := strings.ReplaceAll(line, "\x00", " ")
	if from, to = InScript(spaced); to == 0 {
		return 0, 0, 0
	}
	begin := 0
	for i, arg := range args {
		if from < begin+len(arg) {
			return i, from - begin, min(to-begin, len(arg))
		}
		begin += len(arg) + 1
	}
	return 0, 0, 0
}
