// The payload store. It keeps large values by their digest, so that histories stay small.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/graphrun/graphrun/eval"
)

// A value of this many bytes goes to the payload store: one of a single task, and one that
// many tasks get, each with a copy in the history.
const (
	largestPayload = 64 << 10
	largestShared  = 4 << 10
)

const (
	// sharedMetadata marks a value that many tasks get.
	sharedMetadata = "graphrun-shared"
	// storedEncoding marks a payload with the digest of one in the store.
	storedEncoding = "graphrun/stored"
)

// isLarge reports whether a payload goes to the payload store.
func isLarge(p *common.Payload) bool {
	_, isShared := p.GetMetadata()[sharedMetadata]
	return len(p.GetData()) >= largestPayload || isShared && len(p.GetData()) >= largestShared
}

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

// renewedAfter is the age from which keepBlob sends a text again.
const renewedAfter = 24 * time.Hour

// openBlobs opens a bucket (s3://…) or a folder.
func openBlobs(where string) (blobs, error) {
	if strings.HasPrefix(where, bucketScheme) {
		return openBucket(where)
	}
	if strings.Contains(where, "://") {
		return nil, errNoStore
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

// errOutOfReach is the error of a store that can't be reached now.
var errOutOfReach = errors.New("is out of reach")

// storeError is an error of the payload store.
type storeError struct{ err error }

func (e *storeError) Error() string { return "payload store: " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

func asStoreError(err error) error {
	if err != nil {
		err = &storeError{err}
	}
	return err
}

// keepBlob stores a text in the payload store and returns its digest. It sends a text that is
// there only if that is old: a bucket may keep each version, and a rule may delete old objects.
func keepBlob(b blobs, text []byte) (digest string, err error) {
	sum := sha256.Sum256(text)
	digest = hex.EncodeToString(sum[:])
	name, _ := blobName(digest)
	since, err := b.since(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(since) > renewedAfter {
		err = b.put(name, text)
	}
	return digest, asStoreError(err)
}

// readBlob reads a text from the payload store and checks its digest.
func readBlob(b blobs, digest string) ([]byte, error) {
	name, err := blobName(digest)
	if err != nil {
		return nil, asStoreError(err)
	}
	text, err := b.get(name)
	if sum := sha256.Sum256(text); err == nil && hex.EncodeToString(sum[:]) != digest {
		err = fmt.Errorf("the content of %s has another digest", digest)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: are all workers and clients given the same --temporal-payloads?", err)
	}
	return text, asStoreError(err)
}

// codec replaces large payloads by their digests.
type codec struct {
	blobs blobs
	// inWorkflow makes errors of the store panic. The cluster then repeats the workflow task,
	// while an error would fail the run.
	inWorkflow bool
}

// each converts payloads.
func (c *codec) each(payloads []*common.Payload, convert func(*common.Payload) (*common.Payload, error)) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if out[i], err = convert(p); err != nil {
			if c.inWorkflow && isA[*storeError](err) {
				panic(err)
			}
			return nil, err
		}
	}
	return out, nil
}

// Encode keeps large payloads in the store.
func (c *codec) Encode(payloads []*common.Payload) ([]*common.Payload, error) {
	return c.each(payloads, func(p *common.Payload) (*common.Payload, error) {
		if !isLarge(p) {
			return p, nil
		}
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(p) // so that it has one digest
		if err != nil {
			return nil, err
		}
		digest, err := keepBlob(c.blobs, text)
		return &common.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(storedEncoding)}, Data: []byte(digest)}, err
	})
}

// Decode reads them back.
func (c *codec) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	return c.each(payloads, func(p *common.Payload) (*common.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != storedEncoding {
			return p, nil
		}
		text, err := readBlob(c.blobs, string(p.GetData()))
		if err != nil {
			return nil, err
		}
		out := &common.Payload{}
		return out, asStoreError(proto.Unmarshal(text, out))
	})
}

// storedConverter is a converter with a codec.
type storedConverter struct {
	converter.DataConverter
	blobs blobs
}

// newConverter returns the converter of clients and workers. In a workflow, a slow store is no
// deadlock.
func newConverter(b blobs) converter.DataConverter {
	return workflow.DataConverterWithoutDeadlockDetection(storedConverter{converter.NewCodecDataConverter(plainData(), &codec{blobs: b}), b})
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

// retryStore calls do again while the payload store fails, since running the task again would be
// worse.
func retryStore(ctx context.Context, do func() error) error {
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		err := do()
		if !isA[*storeError](err) {
			return err
		}
		activity.GetLogger(ctx).Error("a task waits for the payload store", "error", err)
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// plainConverter converts plain data to JSON and back.
type plainConverter struct {
	*converter.JSONPayloadConverter
}

// FromPayload decodes a value.
func (plainConverter) FromPayload(p *common.Payload, into any) error {
	if err := decode(p.GetData(), into); err != nil {
		return fmt.Errorf("%w: %w", converter.ErrUnableToDecode, err)
	}
	return nil
}

// plainData returns the converter of the SDK, except that numbers keep their digits.
func plainData() converter.DataConverter {
	return converter.NewCompositeDataConverter(
		converter.NewNilPayloadConverter(), converter.NewByteSlicePayloadConverter(), converter.NewProtoJSONPayloadConverter(),
		converter.NewProtoPayloadConverter(), plainConverter{converter.NewJSONPayloadConverter()},
	)
}

// decode reads JSON. Values without a type become canonical data, as in [eval.Canonical]. The
// value that into held before is not changed, because it may be shared.
func decode(text []byte, into any) error {
	to := reflect.ValueOf(into).Elem()
	fresh := reflect.New(to.Type())
	if err := eval.DecodeJSON(text, fresh.Interface()); err != nil {
		return err
	}
	to.Set(fresh.Elem())
	return nil
}
