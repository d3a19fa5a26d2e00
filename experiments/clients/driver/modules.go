package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// moduleVersion is the version of a module that go.mod of this module, in directory root, asks for.
func moduleVersion(root, path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("driver: %w", err)
	}
	found := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(path) + ` v(\S+)`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("driver: go.mod does not require %s", path)
	}
	return string(found[1]), nil
}
