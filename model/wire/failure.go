// Failures: from the status, code and text of a server to a kind of failure.

package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/model"
)

// newRefusal returns the failure of a response whose status is not 2xx.
func (c *Client) newRefusal(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_, code, text := readReport(body)
	if text == "" {
		text = eval.Shorten(strings.ToValidUTF8(string(body), ""), 300)
	}
	if resp.StatusCode/100 == 3 {
		text = fmt.Sprintf("it sends to %s; redirects are not followed, correct the base URL", resp.Header.Get("Location"))
	}
	out := c.newFailure(resp.StatusCode, code, text, resp.Header)
	if wait := retryDelay.Get().FindSubmatch(body); wait != nil {
		out.RetryAfter = max(out.RetryAfter, RetryAfter(http.Header{"Retry-After": {string(wait[1])}}, time.Now()))
		if resp.StatusCode == http.StatusTooManyRequests { // Google calls a limit per minute a quota
			out.Kind, out.Class = "rate_limited", ""
		}
	}
	return out
}

// retryDelay finds the delay that Google gives in the details of an error, in no header.
var retryDelay = lazyregexp.New(`"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"`)

// readReport reads the code and message of {"error": {"message", "type", "code"}}, and the
// status if the code is one. Other servers wrap it in a list, send a string instead of the
// object, put the fields at the top level, or nest one report in another.
func readReport(body []byte) (status int, code, text string) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var report struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    any             `json:"code"`
		Error   json.RawMessage `json:"error"`
		Detail  any             `json:"detail"`
	}
	_ = json.Unmarshal(body, &report)
	detail, _ := report.Detail.(string)
	if n, isNumber := report.Code.(float64); isNumber && n >= 300 && n < 600 { // of OpenRouter
		status = int(n)
	}
	if bytes.HasPrefix(report.Error, []byte("{")) && len(report.Error) > 2 {
		inner, code, text := readReport(report.Error)
		return cmp.Or(inner, status), code, cmp.Or(text, report.Message, detail)
	}
	_ = json.Unmarshal(report.Error, &text)
	code, _ = report.Code.(string)
	return status, cmp.Or(code, report.Type), cmp.Or(text, report.Message, detail)
}

// newFailure returns the error for a status, which is 0 if there is none, and a code of the provider.
func (c *Client) newFailure(status int, code, text string, header http.Header) *model.Error {
	out := &model.Error{Status: status, RetryAfter: RetryAfter(header, time.Now())}
	out.Kind, out.Class = classifyFailure(status, code, text)
	// The provider knows better than its status whether to retry. Its own SDKs obey
	// this header.
	passes := slices.Contains([]string{"rate_limited", "overloaded", "timeout"}, out.Kind)
	switch advice := header.Get("X-Should-Retry"); {
	case advice == "true" && !passes:
		out.Kind, out.Class = "overloaded", ""
	case advice == "false":
		out.Final = passes
	}
	subject := c.name + " broke off with an error"
	if status != 0 {
		subject = strings.TrimSpace(fmt.Sprintf("%s answered %d %s", c.name, status, http.StatusText(status)))
	}
	for _, part := range []string{code, strings.Join(strings.Fields(text), " ")} {
		if part != "" {
			subject += ": " + part
		}
	}
	if out.Kind == "auth" && out.Class == "" {
		subject += "; check the key of the provider"
	}
	out.Message = c.secrets.Replace(subject)
	return out
}

type cause struct{ kind, class string }

var (
	tooLong    = cause{"invalid_input", "context_length"}
	badRequest = cause{"invalid_input", "invalid_request"}
	filtered   = cause{"llm", "content_filter"}
	outOfMoney = cause{"auth", "quota"}
	denied     = cause{"auth", ""}
	limited    = cause{"rate_limited", ""}
	overloaded = cause{"overloaded", ""}
	slow       = cause{"timeout", ""}
)

// codes are the providers' own codes. They say more than the status: OpenAI answers 429 to too many
// requests and to an account without money, and an error in a stream has no status.
var codes = map[string]cause{
	"context_length_exceeded": tooLong, "string_above_max_length": tooLong, "request_too_large": tooLong, "exceed_context_size_error": tooLong,
	"content_filter": filtered, "content_policy_violation": filtered, "moderation_blocked": filtered, "invalid_prompt": filtered,
	"bio_policy": filtered, "cyber_policy": filtered, "misalignment_policy_violation": filtered, "image_content_policy_violation": filtered,
	"insufficient_quota": outOfMoney, "billing_error": outOfMoney, "billing_not_active": outOfMoney,
	"billing_hard_limit_reached": outOfMoney, "insufficient_credits": outOfMoney, "credit_balance_too_low": outOfMoney,
	"invalid_api_key": denied, "authentication_error": denied, "permission_error": denied,
	"rate_limit_exceeded": limited, "rate_limit_error": limited, "tokens": limited,
	"overloaded_error": overloaded, "server_error": overloaded, "api_error": overloaded, "engine_overloaded": overloaded, "server_overloaded": overloaded,
	"timeout_error": slow,
}

// statuses map a status without a known code to its cause.
var statuses = map[int]cause{
	http.StatusUnauthorized: denied, http.StatusForbidden: denied, http.StatusProxyAuthRequired: denied,
	http.StatusConflict:        overloaded, // conflict with a concurrent call
	http.StatusPaymentRequired: outOfMoney, http.StatusTooManyRequests: limited,
	http.StatusRequestTimeout: slow, http.StatusGatewayTimeout: slow,
}

// texts find causes by parts of the message, at some statuses, because compatible servers
// often send no code.
var texts = []struct {
	cause
	statuses []int
	parts    []string
}{
	{
		outOfMoney,
		[]int{0, 400, 402, 403, 429},
		[]string{"credit balance is too low", "insufficient balance", "insufficient credits", "exceeded your current quota", "out of credits"},
	},
	{tooLong, []int{0, 400, 413, 500}, []string{
		"maximum context length", "context_length_exceeded", "prompt is too long", "exceeds the available context size",
		"exceed context limit", "context window", "input is too long", "too many input tokens", "input token count",
	}},
}

// classifyFailure returns the kind and class of a failure. A text about money wins, then
// the code, then the status, with two exceptions: a 4xx status overrides a code for an
// overloaded server, and 401, 403 or 407 override every code but those for a denied key.
func classifyFailure(status int, code, text string) (kind, class string) {
	textSays := func(i int) bool {
		return slices.Contains(texts[i].statuses, status) && slices.ContainsFunc(texts[i].parts, func(part string) bool {
			return strings.Contains(strings.ToLower(text), part)
		})
	}
	known := codes[code]
	if known == overloaded && status >= 400 && status < 500 {
		known, code = cause{}, ""
	}
	by := statuses[status]
	out := cause{"llm", ""}
	switch {
	case textSays(0):
		out = outOfMoney
	case known.kind == "auth", known.kind != "" && by != denied:
		out = known
	case by == denied: // Ollama says api_error to a wrong key
		out = denied
	case textSays(1):
		out = tooLong
	case by.kind != "":
		out = by
	case status >= 500:
		out = overloaded
	case status >= 300, code == "invalid_request_error", code == "not_found_error":
		out = badRequest
	}
	return out.kind, out.class
}

// RetryAfter returns how long the server asks to wait, or 0. A date
// counts from the server's own clock.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	const most = 24 * time.Hour
	seconds, err := strconv.ParseFloat(strings.TrimSpace(header.Get("Retry-After-Ms")), 64)
	if seconds /= 1000; err != nil || seconds < 0 {
		value := strings.TrimSpace(header.Get("Retry-After"))
		seconds, err = strconv.ParseFloat(value, 64)
		if date, problem := http.ParseTime(value); problem == nil {
			if from, err := http.ParseTime(header.Get("Date")); err == nil {
				now = from
			}
			seconds, err = date.Sub(now).Seconds(), nil
		}
	}
	if err != nil {
		return 0
	}
	return time.Duration(min(max(seconds, 0), most.Seconds()) * float64(time.Second))
}
