// The payload store holds large values by their digest, so that histories stay small. It is a folder
// or a bucket.

package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/graphrun/graphrun/eval"
)

// Values of at least these sizes go to the payload store: largestPayload for the value of one task,
// largestShared for a value that the history repeats.
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

// blobs stores texts by name. It is safe for concurrent use, also by several programs.
type blobs interface {
	// put stores a text under a name, whole or not at all. It replaces an earlier one.
	put(name string, text []byte) error
	// get returns a text, storedAt when it was stored. Both fail with fs.ErrNotExist for a missing text.
	get(name string) ([]byte, error)
	storedAt(name string) (time.Time, error)
	// list returns the names below a folder.
	list(folder string) (names []string, err error)
}

// renewedAfter is the age from which storeBlob sends a text again.
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

func blobName(digest string) (string, error) {
	if len(digest) != 2*sha256.Size || filepath.Base(digest) != digest {
		return "", fmt.Errorf("%q is not a digest", digest)
	}
	return digest[:2] + "/" + digest, nil
}

// errOutOfReach is the error of a store that can't be reached now.
var errOutOfReach = errors.New("is out of reach")

// errPayloadStore begins each error of the payload store.
var errPayloadStore = errors.New("payload store")

func wrapStoreError(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %w", errPayloadStore, err)
	}
	return err
}

// storeBlob stores a text and returns its digest. It renews an old text: a bucket may keep each
// version, and a rule may delete old objects.
func storeBlob(b blobs, text []byte) (digest string, err error) {
	digest = fmt.Sprintf("%x", sha256.Sum256(text))
	name, _ := blobName(digest)
	storedAt, err := b.storedAt(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(storedAt) > renewedAfter {
		err = b.put(name, text)
	}
	return digest, wrapStoreError(err)
}

// readBlob reads a text from the payload store and checks its digest.
func readBlob(b blobs, digest string) ([]byte, error) {
	name, err := blobName(digest)
	if err != nil {
		return nil, wrapStoreError(err)
	}
	text, err := b.get(name)
	if err == nil && fmt.Sprintf("%x", sha256.Sum256(text)) != digest {
		err = fmt.Errorf("the content of %s has another digest", digest)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: are all workers and clients given the same --temporal-payloads?", err)
	}
	return text, wrapStoreError(err)
}

// codec replaces large payloads by their digests.
type codec struct {
	blobs blobs
	// inWorkflow makes errors of the store panic: the cluster repeats the workflow task then.
	inWorkflow bool
}

func (c *codec) convertAll(payloads []*common.Payload, convert func(*common.Payload) (*common.Payload, error)) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if out[i], err = convert(p); err != nil {
			if c.inWorkflow && errors.Is(err, errPayloadStore) {
				panic(err)
			}
			return nil, err
		}
	}
	return out, nil
}

// Encode moves large payloads to the store.
func (c *codec) Encode(payloads []*common.Payload) ([]*common.Payload, error) {
	return c.convertAll(payloads, func(p *common.Payload) (*common.Payload, error) {
		if !isLarge(p) {
			return p, nil
		}
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(p) // equal values need equal digests
		if err != nil {
			return nil, err
		}
		digest, err := storeBlob(c.blobs, text)
		return &common.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(storedEncoding)}, Data: []byte(digest)}, err
	})
}

// Decode reads the payloads in the store back.
func (c *codec) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	return c.convertAll(payloads, func(p *common.Payload) (*common.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != storedEncoding {
			return p, nil
		}
		text, err := readBlob(c.blobs, string(p.GetData()))
		if err != nil {
			return nil, err
		}
		out := &common.Payload{}
		return out, wrapStoreError(proto.Unmarshal(text, out))
	})
}

// storedConverter is a converter with a codec.
type storedConverter struct {
	converter.DataConverter
	blobs blobs
}

// newConverter returns the converter of clients and workers. A slow store does not count as a
// deadlock.
func newConverter(b blobs) converter.DataConverter {
	return workflow.DataConverterWithoutDeadlockDetection(storedConverter{converter.NewCodecDataConverter(newPlainConverter(), &codec{blobs: b}), b})
}

// WithWorkflowContext implements [workflow.ContextAware].
func (c storedConverter) WithWorkflowContext(workflow.Context) converter.DataConverter {
	return converter.NewCodecDataConverter(newPlainConverter(), &codec{c.blobs, true})
}

// WithContext implements [workflow.ContextAware].
func (c storedConverter) WithContext(context.Context) converter.DataConverter { return c }

// storeResult stores the result of a task before its activity ends.
func (w *Worker) storeResult(ctx context.Context, result *taskResult) (out converter.RawValue, err error) {
	err = retryStore(ctx, func() error {
		payload, err := w.converter.ToPayload(result)
		out = converter.NewRawValue(payload)
		return err
	})
	return out, err
}

// retryStore repeats do while the payload store fails, because running the task again is worse.
func retryStore(ctx context.Context, do func() error) error {
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		err := do()
		if !errors.Is(err, errPayloadStore) {
			return err
		}
		activity.GetLogger(ctx).Error("a task waits for the payload store", "error", err)
		if err := sleep(ctx, wait); err != nil {
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
	if err := decodeJSON(p.GetData(), into); err != nil {
		return fmt.Errorf("%w: %w", converter.ErrUnableToDecode, err)
	}
	return nil
}

// newPlainConverter returns the converter of the SDK, except that numbers keep their digits.
func newPlainConverter() converter.DataConverter {
	return converter.NewCompositeDataConverter(
		converter.NewNilPayloadConverter(), converter.NewByteSlicePayloadConverter(), converter.NewProtoJSONPayloadConverter(),
		converter.NewProtoPayloadConverter(), plainConverter{converter.NewJSONPayloadConverter()},
	)
}

// decodeJSON decodes JSON. Values without a type become plain data. It does not modify the old value,
// which may be shared.
func decodeJSON(text []byte, into any) error {
	to := reflect.ValueOf(into).Elem()
	fresh := reflect.New(to.Type())
	if err := eval.DecodeJSON(text, fresh.Interface()); err != nil {
		return err
	}
	to.Set(fresh.Elem())
	return nil
}

// bucketScheme begins the setting that names a bucket.
const bucketScheme = "s3://"

// bucket is a store of blobs in a bucket.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

// bucketTime is how long a bucket may take for one value, with all retries.
const bucketTime = 2 * time.Minute

// errNoStore is the error of a setting that names no payload store.
var errNoStore = errors.New("give a folder, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME; " +
	"keys belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

// openBucket opens s3://BUCKET/PREFIX?endpoint=URL&region=NAME and checks access. Keys come from
// the environment, AWS's files, or the role of the machine.
func openBucket(where string) (*bucket, error) {
	at, err := url.Parse(where)
	if err != nil || at.Host == "" || at.User != nil {
		return nil, errNoStore
	}
	query := at.Query()
	server, err := url.Parse(cmp.Or(query.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com"))
	region := cmp.Or(query.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	query.Del("endpoint")
	query.Del("region")
	if err != nil || server.Scheme != "http" && server.Scheme != "https" || len(query) > 0 {
		return nil, errNoStore
	}
	client, err := minio.New(server.Host, &minio.Options{
		Secure: server.Scheme == "https", MaxRetries: 5, Region: region, // 5 tries take about 3 s without a server
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}},
		}),
	})
	if err != nil {
		return nil, err
	}
	b := &bucket{client, at.Host, strings.Trim(at.Path, "/")}
	return b, b.checkAccess()
}

// checkAccess lists the bucket, which needs the same permissions as reading.
func (b *bucket) checkAccess() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel() // also ends the listing
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.objectKey("logs") + "/", MaxKeys: 1}) {
		return b.explainError(object.Err)
	}
	return nil
}

// explainError adds a remedy to an error of a bucket.
func (b *bucket) explainError(err error) error {
	var reply minio.ErrorResponse
	switch isReply := errors.As(err, &reply); {
	case err == nil:
		return nil
	case !isReply:
		return fmt.Errorf("bucket %q at %s %w: %w", b.name, b.client.EndpointURL(), errOutOfReach, err)
	case reply.Code == minio.NoSuchKey:
		return fs.ErrNotExist
	}
	return fmt.Errorf("bucket %q at %s: %w (%s); it must exist, and the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, in the "+
		"credentials file of AWS, or of the machine need s3:GetObject, s3:PutObject and s3:ListBucket", b.name, b.client.EndpointURL(), err, reply.Code)
}

func (b *bucket) objectKey(name string) string { return path.Join(b.prefix, name) }

// put sends a text in one request, so that the bucket has all of it or nothing.
func (b *bucket) put(name string, text []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	_, err := b.client.PutObject(ctx, b.name, b.objectKey(name), bytes.NewReader(text), int64(len(text)), minio.PutObjectOptions{DisableMultipart: true})
	return b.explainError(err)
}

func (b *bucket) get(name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	object, err := b.client.GetObject(ctx, b.name, b.objectKey(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, b.explainError(err)
	}
	text, err := io.ReadAll(object)
	if err = b.explainError(errors.Join(err, object.Close())); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("bucket %q has no %s: %w", b.name, b.objectKey(name), err)
	}
	return text, err
}

func (b *bucket) storedAt(name string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	info, err := b.client.StatObject(ctx, b.name, b.objectKey(name), minio.StatObjectOptions{})
	return info.LastModified, b.explainError(err)
}

func (b *bucket) list(name string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.objectKey(name) + "/", Recursive: true}) {
		if object.Err != nil {
			return nil, b.explainError(object.Err)
		}
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(object.Key, b.prefix), "/"))
	}
	return names, nil
}

// folder is a store of blobs in files.
type folder string

// unfinishedPrefix begins the names of files that are not completely written.
const unfinishedPrefix = "new-"

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

func (f folder) put(name string, text []byte) error {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), unfinishedPrefix)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if !strings.HasPrefix(name, logsFolder) { // a power failure may cost logs
		err = errors.Join(err, file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

func (f folder) get(name string) ([]byte, error) { return os.ReadFile(f.path(name)) }

func (f folder) storedAt(name string) (time.Time, error) {
	info, err := os.Stat(f.path(name))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (f folder) list(name string) (names []string, err error) {
	entries, err := os.ReadDir(f.path(name))
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), unfinishedPrefix) {
			names = append(names, name+"/"+entry.Name())
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}
