// Temporary folders of this process.

package process

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

// TempDir makes a private folder, and on Linux removes those of dead processes.
func TempDir() (string, error) {
	dir := TempName()
	return dir, os.Mkdir(dir, 0o700)
}

// TempName returns the unguessable path of a folder that does not exist yet.
func TempName() string {
	sweep(os.TempDir())
	return filepath.Join(os.TempDir(), tempPrefix()+rand.Text())
}
