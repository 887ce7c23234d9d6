// The payload store: values that are too large for a history are kept beside it, by
// their digest.

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
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

// blobs keeps texts by their digest. It is safe for concurrent use, also by several
// programs.
type blobs interface {
	put(digest string, text []byte) error
	get(digest string) ([]byte, error)
}

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
		text, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		digest := hex.EncodeToString(sum[:])
		if err := c.blobs.put(digest, text); err != nil {
			return nil, fmt.Errorf("payload store: %w", err)
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
		digest := string(p.GetData())
		text, err := c.blobs.get(digest)
		if err != nil {
			return nil, fmt.Errorf("payload store: %w", err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
			return nil, fmt.Errorf("payload store: what is kept as %s is something else", digest)
		}
		out[i] = &common.Payload{}
		if err := proto.Unmarshal(text, out[i]); err != nil {
			return nil, fmt.Errorf("payload store: %s: %w", digest, err)
		}
	}
	return out, nil
}

// folder is a store of blobs in files.
type folder string

func (f folder) path(digest string) string {
	return filepath.Join(string(f), digest[:2], digest)
}

func (f folder) put(digest string, text []byte) error {
	path := f.path(digest)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

func (f folder) get(digest string) ([]byte, error) {
	if len(digest) != 2*sha256.Size || filepath.Base(digest) != digest {
		return nil, fmt.Errorf("%q is no digest", digest)
	}
	text, err := os.ReadFile(f.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: are all workers and clients given the same --payloads?", string(f), digest)
	}
	return text, err
}
