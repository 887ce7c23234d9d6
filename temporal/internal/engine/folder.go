// Blobs in files.

package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// folder is a store of blobs in files.
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

func (f folder) put(name string, text []byte) error {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
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
		names = append(names, name+"/"+entry.Name())
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}
