package page

import (
	_ "embed"
	"strings"
)

//go:embed page.go
var source string

// SourceFor is the text of this package's page.go as a file of another package.
func SourceFor(name string) []byte {
	return []byte(strings.Replace(source, "\npackage page\n", "\npackage "+name+"\n", 1))
}
