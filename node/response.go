// The kind http: what a server's answer means and what its body is.

package node

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphrun/graphrun/model/wire"
	"github.com/graphrun/graphrun/runner"
)

// answer returns the node's output, or a failure for an unexpected status.
func (c *call) answer(ctx context.Context, resp *http.Response) (any, error) {
	expected := resp.StatusCode/100 == 2
	if len(c.expect) > 0 {
		expected = slices.Contains(c.expect, resp.StatusCode)
	}
	if !expected {
		// Best effort: the failure reports the status even if the body breaks off.
		begin, _ := io.ReadAll(io.LimitReader(resp.Body, detailBytes+utf8.UTFMax))
		if ctx.Err() != nil {
			return nil, stoppedFailure(ctx, c.shown+" was broken off")
		}
		return nil, c.unexpected(resp, fmt.Sprintf("answered %s", statusText(resp.StatusCode)), begin)
	}
	if resp.ContentLength > int64(c.MaxBody) && resp.Request.Method != http.MethodHead {
		return nil, c.tooLarge()
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.MaxBody)+1))
	switch {
	case len(body) > c.MaxBody:
		return nil, c.tooLarge()
	case err != nil && ctx.Err() != nil:
		return nil, stoppedFailure(ctx, c.shown+" was broken off")
	case err != nil:
		return nil, &runner.Failure{Kind: "network", Message: fmt.Sprintf("%s: the answer broke off after %d bytes: %v", c.shown, len(body), err)}
	}
	data, err := parseBody(resp.Header.Get("Content-Type"), body)
	if err != nil {
		return nil, &runner.Failure{
			Kind:    "invalid_output",
			Message: fmt.Sprintf("%s answered %s whose body is not JSON as its type says: %v%s", c.shown, statusText(resp.StatusCode), err, quotedHead(body)),
			Details: map[string]any{"status": resp.StatusCode, "headers": headerData(resp.Header), "body": headText(body, detailBytes)},
		}
	}
	return map[string]any{"status": resp.StatusCode, "headers": headerData(resp.Header), "body": data}, nil
}

func (c *call) tooLarge() *runner.Failure {
	return &runner.Failure{
		Kind:    "invalid_output",
		Message: fmt.Sprintf("%s answered with more than %d bytes (max_body)", c.shown, c.MaxBody),
	}
}

// unexpected returns the failure of an answer with an unexpected status.
func (c *call) unexpected(resp *http.Response, what string, body []byte) *runner.Failure {
	failure := &runner.Failure{
		Kind:    "http_status",
		Message: c.shown + " " + what,
		Details: map[string]any{
			"status":  resp.StatusCode,
			"headers": headerData(resp.Header),
			"body":    headText(body, detailBytes),
		},
		RetryAfter: wire.RetryAfter(resp.Header, time.Now()).Milliseconds(),
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		failure.Kind = "rate_limited"
	case http.StatusServiceUnavailable, 529:
		failure.Kind = "overloaded"
	}
	return failure
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// headerData returns headers as plain data.
func headerData(header http.Header) map[string]any {
	out := make(map[string]any, len(header))
	for name, values := range header {
		out[strings.ToLower(name)] = validText([]byte(strings.Join(values, ", ")))
	}
	return out
}

// parseBody returns a body as data of its content type. It fails for broken JSON.
func parseBody(contentType string, body []byte) (any, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		kind = "" // absent or unreadable
	}
	switch {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		if len(body) == 0 {
			return nil, nil // an answer to HEAD
		}
		return decodeJSON(body)
	case kind == "" && utf8.Valid(body), isText(kind):
		return decodeText(params["charset"], body), nil
	}
	return base64.StdEncoding.EncodeToString(body), nil
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml") ||
		slices.Contains([]string{
			"application/graphql", "application/javascript", "application/jsonl", "application/toml",
			"application/x-ndjson", "application/x-www-form-urlencoded", "application/x-yaml",
			"application/xml", "application/yaml",
		}, kind)
}

// decodeText decodes UTF-8 and Latin-1, and keeps the valid UTF-8 of other encodings.
func decodeText(charset string, body []byte) string {
	if c := strings.ToLower(charset); c != "iso-8859-1" && c != "latin1" {
		return validText(body)
	}
	runes := make([]rune, len(body))
	for i, b := range body {
		runes[i] = rune(b)
	}
	return string(runes)
}
