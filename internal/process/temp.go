// Folders for what lasts as long as this process.

package process

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

// TempDir makes a folder that nobody else can enter, and on Linux removes those of
// processes that are gone.
func TempDir() (string, error) {
	dir := TempName()
	return dir, os.Mkdir(dir, 0o700)
}

// TempName is the path of a folder that nobody can guess and that is there when
// somebody makes it.
func TempName() string {
	sweep(os.TempDir())
	return filepath.Join(os.TempDir(), tempPrefix()+rand.Text())
}
