// Large values and logs in an S3-compatible bucket.

package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucketScheme begins what names a bucket.
const bucketScheme = "s3://"

// bucket is a store of blobs in a bucket.
type bucket struct {
	client       *minio.Client
	name, prefix string

	mu sync.Mutex
	// known are digests that the bucket has: a run whose history is read again asks for
	// none twice.
	known map[string]time.Time // and since when
}

const (
	// maxKnown bounds what is remembered of a bucket.
	maxKnown = 100_000
	// bucketTime is how long a bucket may take for one value, with all retries.
	bucketTime = 2 * time.Minute
	// bucketRetries is how often a request is sent at most, within about 3 s when
	// nobody listens.
	bucketRetries = 5
	// maxReads is how many logs are read at once.
	maxReads = 16
)

// openBucket opens s3://BUCKET/PREFIX?endpoint=URL&region=NAME and looks whether it is
// there. Who asks is known from the environment (AWS_ACCESS_KEY_ID …), the file and
// profile of AWS, or the machine's role.
func openBucket(where string) (*bucket, error) {
	at, err := url.Parse(where)
	if err != nil || at.Host == "" {
		return nil, errors.New("a bucket is named s3://BUCKET/PREFIX?endpoint=URL&region=NAME")
	}
	if at.User != nil {
		return nil, fmt.Errorf("%s holds a key: keys belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", at.Redacted())
	}
	query, err := url.ParseQuery(at.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	for name := range query {
		if name != "endpoint" && name != "region" {
			return nil, fmt.Errorf("%s has %q, allowed are endpoint and region", where, name)
		}
	}
	endpoint, secure, err := endpointOf(cmp.Or(query.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")))
	if err != nil {
		return nil, err
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	transport.ResponseHeaderTimeout = 30 * time.Second
	client, err := minio.New(endpoint, &minio.Options{
		Secure: secure, Transport: transport, MaxRetries: bucketRetries,
		Region: cmp.Or(query.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}},
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	b := &bucket{client: client, name: at.Host, prefix: strings.Trim(at.Path, "/"), known: map[string]time.Time{}}
	return b, b.check()
}

// endpointOf splits the URL of a server; empty: that of AWS.
func endpointOf(given string) (endpoint string, secure bool, err error) {
	if given == "" {
		return "s3.amazonaws.com", true, nil
	}
	to, err := url.Parse(given)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" || strings.Trim(to.Path, "/") != "" {
		return "", false, fmt.Errorf("the endpoint %q is no http:// or https:// URL of a server", given)
	}
	return to.Host, to.Scheme == "https", nil
}

// check asks for something that only who may use the bucket gets.
func (b *bucket) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel() // also ends the listing
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.key("logs") + "/", MaxKeys: 1}) {
		return b.explain(object.Err)
	}
	return nil
}

// explain says what to do about an error.
func (b *bucket) explain(err error) error {
	if err == nil {
		return nil
	}
	var reply minio.ErrorResponse
	if !errors.As(err, &reply) {
		return fmt.Errorf("bucket %q at %s %w: %w", b.name, b.client.EndpointURL(), errOutOfReach, err)
	}
	switch {
	case reply.Code == minio.NoSuchBucket:
		return fmt.Errorf("%s has no bucket %q: create it, or name another one with --temporal-payloads", b.client.EndpointURL(), b.name)
	case reply.StatusCode == http.StatusForbidden || reply.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("access to bucket %q at %s is denied (%s): it takes s3:GetObject, s3:PutObject, and s3:ListBucket; "+
			"keys are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, of the credentials file of AWS, or of the machine",
			b.name, b.client.EndpointURL(), reply.Code)
	}
	return fmt.Errorf("bucket %q at %s: %w (%s)", b.name, b.client.EndpointURL(), err, reply.Code)
}

func (b *bucket) key(names ...string) string {
	return path.Join(append([]string{b.prefix}, names...)...)
}

// put asks first whether the bucket has the text: to ask costs less than to send, and
// buckets that keep versions would keep each.
func (b *bucket) put(digest string, text []byte) error {
	if b.knows(digest) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	key := b.key(digest[:2], digest)
	there, err := b.client.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	var reply minio.ErrorResponse
	switch {
	case err == nil && there.Size == int64(len(text)) && time.Since(there.LastModified) <= renewedAfter:
		b.learn(digest, there.LastModified)
		return nil
	case err == nil || errors.As(err, &reply) && reply.StatusCode == http.StatusNotFound:
		if err := b.write(ctx, key, text); err != nil {
			return err
		}
	default:
		return b.explain(err)
	}
	b.learn(digest, time.Now())
	return nil
}

func (b *bucket) knows(digest string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.known[digest]) <= renewedAfter
}

func (b *bucket) learn(digest string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) >= maxKnown {
		clear(b.known)
	}
	b.known[digest] = at
}

// write sends a text as one piece: it is there whole or not at all.
func (b *bucket) write(ctx context.Context, key string, text []byte) error {
	_, err := b.client.PutObject(ctx, b.name, key, bytes.NewReader(text), int64(len(text)), minio.PutObjectOptions{DisableMultipart: true})
	return b.explain(err)
}

func (b *bucket) get(digest string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	text, err := b.read(ctx, b.key(digest[:2], digest))
	var reply minio.ErrorResponse
	if errors.As(err, &reply) && reply.Code == minio.NoSuchKey {
		return nil, fmt.Errorf("bucket %q has no %s: are all workers and clients given the same --temporal-payloads?",
			b.name, b.key(digest[:2], digest))
	}
	if err != nil {
		return nil, b.explain(err)
	}
	return text, nil
}

func (b *bucket) read(ctx context.Context, key string) ([]byte, error) {
	object, err := b.client.GetObject(ctx, b.name, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(object)
	return text, errors.Join(err, object.Close())
}

func (b *bucket) readLogs(runID string) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	var keys []string
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.key("logs", logName(runID)) + "/", Recursive: true}) {
		if object.Err != nil {
			return nil, b.explain(object.Err)
		}
		keys = append(keys, object.Key)
	}
	all, wrong := make([][]byte, len(keys)), make([]error, len(keys))
	var reads sync.WaitGroup
	room := make(chan struct{}, maxReads)
	for i, key := range keys {
		room <- struct{}{}
		reads.Go(func() {
			all[i], wrong[i] = b.read(ctx, key)
			<-room
		})
	}
	reads.Wait()
	return all, b.explain(cmp.Or(wrong...))
}
