// How offsets in a decoded scalar map back to the file.

package spec

type scalar struct{}
