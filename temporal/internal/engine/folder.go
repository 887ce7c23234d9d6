// Large values and logs in files.

package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// folder is a store of blobs in files.
type folder string

func (f folder) path(digest string) string {
	return filepath.Join(string(f), digest[:2], digest)
}

func (f folder) put(digest string, text []byte) error {
	path := f.path(digest)
	if info, err := os.Stat(path); err == nil {
		now := time.Now()
		if now.Sub(info.ModTime()) > renewedAfter {
			return os.Chtimes(path, now, now)
		}
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
	text, err := os.ReadFile(f.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: are all workers and clients given the same --temporal-payloads?", string(f), digest)
	}
	return text, err
}

// logsOf is the folder of a run's logs.
func (f folder) logsOf(runID string) string { return filepath.Join(string(f), "logs", logName(runID)) }

func (f folder) openLog(runID, name string) (io.WriteCloser, error) {
	if err := os.MkdirAll(f.logsOf(runID), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(f.logsOf(runID), name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func (f folder) readLogs(runID string) ([][]byte, error) {
	files, err := os.ReadDir(f.logsOf(runID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(files))
	for i, entry := range files {
		if all[i], err = os.ReadFile(filepath.Join(f.logsOf(runID), entry.Name())); err != nil {
			return nil, err
		}
	}
	return all, nil
}
