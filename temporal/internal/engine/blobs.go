// Blobs in an S3-compatible bucket.

package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

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

// openBucket opens s3://BUCKET/PREFIX?endpoint=URL&region=NAME and checks that it is there.
// Keys come from the environment (AWS_ACCESS_KEY_ID …), the file and profile of AWS, or the
// role of the machine.
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
	return b, b.check()
}

// check lists the bucket, which needs the same permissions as reading.
func (b *bucket) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel() // also ends the listing
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.key("logs") + "/", MaxKeys: 1}) {
		return b.explain(object.Err)
	}
	return nil
}

// explain adds a remedy to an error of a bucket.
func (b *bucket) explain(err error) error {
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

func (b *bucket) key(name string) string { return path.Join(b.prefix, name) }

// put sends a text in one request, so that the bucket has all of it or nothing.
func (b *bucket) put(name string, text []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	_, err := b.client.PutObject(ctx, b.name, b.key(name), bytes.NewReader(text), int64(len(text)), minio.PutObjectOptions{DisableMultipart: true})
	return b.explain(err)
}

func (b *bucket) get(name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	object, err := b.client.GetObject(ctx, b.name, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, b.explain(err)
	}
	text, err := io.ReadAll(object)
	if err = b.explain(errors.Join(err, object.Close())); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("bucket %q has no %s: %w", b.name, b.key(name), err)
	}
	return text, err
}

func (b *bucket) since(name string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	info, err := b.client.StatObject(ctx, b.name, b.key(name), minio.StatObjectOptions{})
	return info.LastModified, b.explain(err)
}

func (b *bucket) list(name string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.key(name) + "/", Recursive: true}) {
		if object.Err != nil {
			return nil, b.explain(object.Err)
		}
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(object.Key, b.prefix), "/"))
	}
	return names, nil
}

// folder is a store of blobs in files.
type folder string

// unfinished begins the names of files that are being written.
const unfinished = "new-"

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

func (f folder) put(name string, text []byte) error {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), unfinished)
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

func (f folder) since(name string) (time.Time, error) {
	info, err := os.Stat(f.path(name))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (f folder) list(name string) (names []string, err error) {
	entries, err := os.ReadDir(f.path(name))
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), unfinished) {
			names = append(names, name+"/"+entry.Name())
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}
