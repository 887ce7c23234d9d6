// The payload store: values that are too large for a history are kept beside it, by
// their digest.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
)

// largestPayload is the size in bytes from which on a value goes to the payload store.
const largestPayload = 64 << 10

// largestShared is the same for a value that many tasks get: each would have its copy
// in the history.
const largestShared = 4 << 10

// sharedMetadata marks those.
const sharedMetadata = "graphrun-shared"

// storedEncoding marks a payload that stands for one in the store.
const storedEncoding = "graphrun/stored"

// blobs keeps texts by their digest, and logs. It is safe for concurrent use, also by
// several programs.
type blobs interface {
	// put keeps a text. One that is there stays, and counts as new if it is older than
	// renewedAfter: what is old has not been kept for a run that began lately.
	put(digest string, text []byte) error
	get(digest string) ([]byte, error)
	// openLog begins a log of a run, by a name that no other has. What is written can be
	// read a moment later.
	openLog(runID, name string) (io.WriteCloser, error)
	// readLogs are the texts of all logs of a run, a log in one or several of them.
	readLogs(runID string) ([][]byte, error)
}

// renewedAfter is the age from which on a text that is kept once more counts as new.
const renewedAfter = 24 * time.Hour

// openBlobs opens a bucket, s3://…, or else a folder.
func openBlobs(where string) (blobs, error) {
	if strings.HasPrefix(where, bucketScheme) {
		return openBucket(where)
	}
	if scheme, _, ok := strings.Cut(where, "://"); ok {
		return nil, fmt.Errorf("%s:// is not supported: give a folder, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME", scheme)
	}
	return folder(where), nil
}

// checkDigest refuses what could be the name of something else.
func checkDigest(digest string) error {
	if len(digest) != 2*sha256.Size || filepath.Base(digest) != digest {
		return fmt.Errorf("%q is no digest", digest)
	}
	return nil
}

// logName is the name of a run among logs.
func logName(runID string) string { return strings.NewReplacer("/", "_", "..", "_").Replace(runID) }

// storeError is what went wrong with the payload store.
type storeError struct{ err error }

func (e *storeError) Error() string { return "payload store: " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// keepBlob keeps a text in the payload store.
func keepBlob(b blobs, text []byte) (digest string, err error) {
	sum := sha256.Sum256(text)
	digest = hex.EncodeToString(sum[:])
	if err := b.put(digest, text); err != nil {
		return "", &storeError{err}
	}
	return digest, nil
}

// readBlob reads a text from the payload store, and sees that it is what was kept.
func readBlob(b blobs, digest string) ([]byte, error) {
	err := checkDigest(digest)
	var text []byte
	if err == nil {
		text, err = b.get(digest)
	}
	if sum := sha256.Sum256(text); err == nil && hex.EncodeToString(sum[:]) != digest {
		err = fmt.Errorf("what is kept as %s is something else", digest)
	}
	if err != nil {
		return nil, &storeError{err}
	}
	return text, nil
}

// errOutOfReach is what is wrong with a store that may be there again in a moment.
var errOutOfReach = errors.New("is out of reach")

// codec replaces large payloads.
type codec struct{ blobs blobs }

// Encode keeps large payloads in the store.
func (c *codec) Encode(payloads []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		out[i] = p
		if !kept(p) {
			continue
		}
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(p) // so that it has one digest
		if err != nil {
			return nil, err
		}
		digest, err := keepBlob(c.blobs, text)
		if err != nil {
			return nil, err
		}
		out[i] = &common.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(storedEncoding)}, Data: []byte(digest),
		}
	}
	return out, nil
}

// Decode reads them back.
func (c *codec) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		out[i] = p
		if string(p.GetMetadata()[converter.MetadataEncoding]) != storedEncoding {
			continue
		}
		text, err := readBlob(c.blobs, string(p.GetData()))
		if err != nil {
			return nil, err
		}
		out[i] = &common.Payload{}
		if err := proto.Unmarshal(text, out[i]); err != nil {
			return nil, &storeError{err}
		}
	}
	return out, nil
}

// newConverter is the converter of clients and workers whose large values are kept.
// A store may take its time, also within a workflow.
func newConverter(b blobs) converter.DataConverter {
	inner := converter.NewCodecDataConverter(plainData(), &codec{b})
	return workflow.DataConverterWithoutDeadlockDetection(workflowAware{inner})
}

// workflowAware knows whether it is a workflow that converts.
type workflowAware struct{ converter.DataConverter }

// WithWorkflowContext implements [workflow.ContextAware].
func (a workflowAware) WithWorkflowContext(workflow.Context) converter.DataConverter {
	return workflowConverter(a)
}

// WithContext implements [workflow.ContextAware].
func (a workflowAware) WithContext(context.Context) converter.DataConverter { return a }

// workflowConverter converts within workflows. A store that is out of reach is the matter of a
// worker, not of the run: a panic has the cluster give the decision out again later.
type workflowConverter struct{ converter.DataConverter }

func panicIfStore(err error) error {
	var store *storeError
	if errors.As(err, &store) {
		panic(store)
	}
	return err
}

func (i workflowConverter) ToPayload(v any) (*common.Payload, error) {
	p, err := i.DataConverter.ToPayload(v)
	return p, panicIfStore(err)
}

func (i workflowConverter) ToPayloads(v ...any) (*common.Payloads, error) {
	p, err := i.DataConverter.ToPayloads(v...)
	return p, panicIfStore(err)
}

func (i workflowConverter) FromPayload(p *common.Payload, to any) error {
	return panicIfStore(i.DataConverter.FromPayload(p, to))
}

func (i workflowConverter) FromPayloads(p *common.Payloads, to ...any) error {
	return panicIfStore(i.DataConverter.FromPayloads(p, to...))
}

// keepResult stores the result of a task before its activity ends.
func (w *Worker) keepResult(ctx context.Context, result *taskResult) (out converter.RawValue, err error) {
	err = retryStore(ctx, func() error {
		payload, err := w.converter.ToPayload(result)
		out = converter.NewRawValue(payload)
		return err
	})
	return out, err
}

// retryStore has an activity do something, again as long as the payload store is out of
// reach: the task stays alive, since to run it again would be worse.
func retryStore(ctx context.Context, do func() error) error {
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		err := do()
		var store *storeError
		if !errors.As(err, &store) {
			return err
		}
		activity.GetLogger(ctx).Error("a task waits for the payload store", "error", err)
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}
