// The payload store, which keeps values that are too large for a history by their digest.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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

// largestShared is that size for a value that many tasks get, each with a copy in the
// history.
const largestShared = 4 << 10

// sharedMetadata marks those.
const sharedMetadata = "graphrun-shared"

// isLarge reports whether a payload goes to the payload store.
func isLarge(p *common.Payload) bool {
	if _, shared := p.GetMetadata()[sharedMetadata]; shared {
		return len(p.GetData()) >= largestShared
	}
	return len(p.GetData()) >= largestPayload
}

// sizeInHistory returns about how many bytes of a payload are sent.
func sizeInHistory(p *common.Payload) int {
	if isLarge(p) {
		return 2 * sha256.Size // its digest
	}
	return len(p.GetData())
}

// storedEncoding marks a payload that stands for one in the store.
const storedEncoding = "graphrun/stored"

// blobs keeps texts by name. It is safe for concurrent use, also by several programs.
type blobs interface {
	// put keeps a text, whole or not at all, in place of one of that name.
	put(name string, text []byte) error
	// get returns a text, and since when it has been kept. The error of one that is
	// missing is fs.ErrNotExist.
	get(name string) ([]byte, error)
	since(name string) (time.Time, error)
	// list returns the names below a folder.
	list(folder string) (names []string, err error)
}

// renewedAfter is the age from which on a text that is kept once more is sent again.
const renewedAfter = 24 * time.Hour

// openBlobs opens a bucket (s3://…) or a folder.
func openBlobs(where string) (blobs, error) {
	if strings.HasPrefix(where, bucketScheme) {
		return openBucket(where)
	}
	if scheme, _, ok := strings.Cut(where, "://"); ok {
		return nil, fmt.Errorf("%s:// is not supported: give a folder, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME", scheme)
	}
	return folder(where), nil
}

// blobName returns the name of the blob with a digest.
func blobName(digest string) (string, error) {
	if len(digest) != 2*sha256.Size || filepath.Base(digest) != digest {
		return "", fmt.Errorf("%q is no digest", digest)
	}
	return digest[:2] + "/" + digest, nil
}

// storeError is an error of the payload store.
type storeError struct{ err error }

func (e *storeError) Error() string { return "payload store: " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// keepBlob keeps a text in the payload store. To ask whether it is there costs less than to
// send it, and a bucket may keep each version. One that is old is sent again, since a rule
// may delete what is old.
func keepBlob(b blobs, text []byte) (digest string, err error) {
	sum := sha256.Sum256(text)
	digest = hex.EncodeToString(sum[:])
	name, _ := blobName(digest)
	since, err := b.since(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(since) > renewedAfter {
		err = b.put(name, text)
	}
	if err != nil {
		return "", &storeError{err}
	}
	return digest, nil
}

// readBlob reads a text from the payload store and checks its digest.
func readBlob(b blobs, digest string) ([]byte, error) {
	name, err := blobName(digest)
	if err != nil {
		return nil, &storeError{err}
	}
	text, err := b.get(name)
	if sum := sha256.Sum256(text); err == nil && hex.EncodeToString(sum[:]) != digest {
		err = fmt.Errorf("what is kept as %s is something else", digest)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: are all workers and clients given the same --temporal-payloads?", err)
	}
	if err != nil {
		return nil, &storeError{err}
	}
	return text, nil
}

// errOutOfReach is the error of a store that may be back in a moment.
var errOutOfReach = errors.New("is out of reach")

// codec replaces large payloads by their digests.
type codec struct {
	blobs blobs
	// panics says that a workflow converts: a store that is out of reach is the matter of a
	// worker, not of the run, and a panic has the cluster give the decision out again later.
	panics bool
}

func (c *codec) panicOnStoreError(err error) error {
	var store *storeError
	if c.panics && errors.As(err, &store) {
		panic(store)
	}
	return err
}

// Encode keeps large payloads in the store.
func (c *codec) Encode(payloads []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		out[i] = p
		if !isLarge(p) {
			continue
		}
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(p) // so that it has one digest
		if err != nil {
			return nil, err
		}
		digest, err := keepBlob(c.blobs, text)
		if err != nil {
			return nil, c.panicOnStoreError(err)
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
			return nil, c.panicOnStoreError(err)
		}
		out[i] = &common.Payload{}
		if err := proto.Unmarshal(text, out[i]); err != nil {
			return nil, &storeError{err}
		}
	}
	return out, nil
}

// newConverter returns the converter of clients and workers. A store may take its time, also
// within a workflow.
func newConverter(b blobs) converter.DataConverter {
	return workflow.DataConverterWithoutDeadlockDetection(storedConverter{converter.NewCodecDataConverter(plainData(), &codec{blobs: b}), b})
}

// storedConverter is a converter that knows whether a workflow converts.
type storedConverter struct {
	converter.DataConverter
	blobs blobs
}

// WithWorkflowContext implements [workflow.ContextAware].
func (c storedConverter) WithWorkflowContext(workflow.Context) converter.DataConverter {
	return converter.NewCodecDataConverter(plainData(), &codec{c.blobs, true})
}

// WithContext implements [workflow.ContextAware].
func (c storedConverter) WithContext(context.Context) converter.DataConverter { return c }

// keepResult stores the result of a task before its activity ends.
func (w *Worker) keepResult(ctx context.Context, result *taskResult) (out converter.RawValue, err error) {
	err = retryStore(ctx, func() error {
		payload, err := w.converter.ToPayload(result)
		out = converter.NewRawValue(payload)
		return err
	})
	return out, err
}

// retryStore calls do for an activity, again while the payload store fails: to run the task
// again would be worse.
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
