// What an error answer of a server means to a graph.

package wire

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/model"
)

// refused is the error of an answer with another status than 2xx.
func (e *Endpoint) refused(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	code, text := explain(body)
	if text == "" {
		text = strings.Join(strings.Fields(strings.ToValidUTF8(head(body, 300), "")), " ")
	}
	if resp.StatusCode/100 == 3 {
		text = fmt.Sprintf("it sends to %s; redirects are not followed, correct the base URL", resp.Header.Get("Location"))
	}
	out := e.failure(resp.StatusCode, code, text, resp.Header)
	if wait := retryDelay.FindSubmatch(body); wait != nil {
		out.RetryAfter = max(out.RetryAfter, retryAfter(http.Header{"Retry-After": {string(wait[1])}}, time.Now()))
		if resp.StatusCode == http.StatusTooManyRequests { // what it calls a quota is one for a minute
			out.Kind, out.Class = "rate_limited", ""
		}
	}
	return out
}

// retryDelay is where Google says how long to wait: in the details of the error, as
// seconds, and in no header.
var retryDelay = regexp.MustCompile(`"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"`)

// failure makes the error of a status (0: none) and a word of the provider.
func (e *Endpoint) failure(status int, code, text string, header http.Header) *model.Error {
	out := &model.Error{Status: status, RetryAfter: retryAfter(header, time.Now())}
	out.Kind, out.Class = classify(status, code, text)
	advised(out, header)
	subject := e.Name
	if status != 0 {
		subject += fmt.Sprintf(" answered %d", status)
		if name := http.StatusText(status); name != "" {
			subject += " " + name
		}
	} else {
		subject += " broke off with an error"
	}
	for _, part := range []string{code, strings.Join(strings.Fields(text), " ")} {
		if part != "" {
			subject += ": " + part
		}
	}
	if out.Kind == "auth" && out.Class == "" {
		subject += "; check the key of the provider"
	}
	out.Message = e.clean(subject)
	return out
}

// advised heeds what the provider says about another try: it knows better than
// the status. OpenAI and Anthropic send the header, and their own libraries obey.
func advised(e *model.Error, header http.Header) {
	passes := slices.Contains([]string{"rate_limited", "overloaded", "timeout"}, e.Kind)
	switch header.Get("X-Should-Retry") {
	case "true":
		if !passes {
			e.Kind, e.Class = "overloaded", ""
		}
	case "false":
		e.Final = passes
	}
}

// codes maps the words of providers for their errors to kind and class. They
// say more than the status: OpenAI answers 429 both to haste and to an account
// without money, and a stream that has begun has no status left to give.
func codes(code string) (kind, class string) {
	switch code {
	case "context_length_exceeded", "string_above_max_length", "request_too_large", "exceed_context_size_error":
		return "invalid_input", "context_length"
	case "content_filter", "content_policy_violation", "moderation_blocked",
		"invalid_prompt", "bio_policy", "cyber_policy", "misalignment_policy_violation", "image_content_policy_violation":
		return "llm", "content_filter"
	case "insufficient_quota", "billing_error", "billing_not_active", "billing_hard_limit_reached", "insufficient_credits", "credit_balance_too_low":
		return "auth", "quota"
	case "invalid_api_key", "authentication_error", "permission_error":
		return "auth", ""
	case "rate_limit_exceeded", "rate_limit_error", "tokens":
		return "rate_limited", ""
	case "overloaded_error", "server_error", "api_error", "engine_overloaded", "server_overloaded":
		return "overloaded", ""
	case "timeout_error":
		return "timeout", ""
	}
	return "", ""
}

// classify finds kind and class. Servers that speak another's protocol use
// words of their own, so too long a context is also known by its text.
func classify(status int, code, text string) (kind, class string) {
	if outOfMoney(status, text) {
		return "auth", "quota"
	}
	kind, class = codes(code)
	if kind == "overloaded" && status >= 400 && status < 500 { // the status is more specific
		kind, class, code = "", "", ""
	}
	switch denied := status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired; {
	case kind == "auth", kind != "" && !denied:
		return kind, class
	case denied: // Ollama says api_error to a wrong key, too
		return "auth", ""
	}
	if status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == 0 || status == http.StatusInternalServerError {
		if tooLong(text) {
			return "invalid_input", "context_length"
		}
	}
	switch {
	case status == http.StatusConflict: // of calls at one time: it passes
		return "overloaded", ""
	case status == http.StatusPaymentRequired:
		return "auth", "quota"
	case status == http.StatusTooManyRequests:
		return "rate_limited", ""
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return "timeout", ""
	case status >= 500:
		return "overloaded", ""
	case status >= 300:
		return "invalid_input", "invalid_request"
	case code == "invalid_request_error", code == "not_found_error":
		return "invalid_input", "invalid_request"
	}
	return "llm", ""
}

// outOfMoney knows an account without money by the text, where no code of its
// own says it: Anthropic answers 400 with invalid_request_error.
func outOfMoney(status int, text string) bool {
	switch status {
	case 0, http.StatusBadRequest, http.StatusPaymentRequired, http.StatusForbidden, http.StatusTooManyRequests:
		return says(text, "credit balance is too low", "insufficient balance", "insufficient credits", "exceeded your current quota", "out of credits")
	}
	return false
}

func tooLong(text string) bool {
	return says(text,
		"maximum context length", "context_length_exceeded", "prompt is too long", "exceeds the available context size",
		"exceed context limit", "context window", "input is too long", "too many input tokens", "input token count",
	)
}

// says reports whether a text holds one of the parts, which are in lower case.
func says(text string, parts ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// retryAfter is how long the server asks to wait; 0 when it does not say. A
// date counts from the server's own clock.
func retryAfter(header http.Header, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if ms, err := strconv.ParseFloat(strings.TrimSpace(header.Get("Retry-After-Ms")), 64); err == nil && ms >= 0 {
		return time.Duration(min(ms, float64(most/time.Millisecond)) * float64(time.Millisecond))
	}
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return time.Duration(min(max(seconds, 0), most.Seconds()) * float64(time.Second))
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if from, err := http.ParseTime(header.Get("Date")); err == nil {
		now = from
	}
	return min(max(date.Sub(now), 0), most)
}
