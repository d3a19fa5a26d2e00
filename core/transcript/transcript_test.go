package transcript

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlayReplacesAnswersAndNothingElse(t *testing.T) {
	text := "A story.\n\n> one\nold answer\nof two lines\n> two\n\n# comment\nprose stays\n> three\n"
	var heard []string
	got := play(text, func(command string) string {
		heard = append(heard, command)
		return "<" + command + ">\n"
	})
	assert.Equal(t, []string{"one", "two", "three"}, heard)
	assert.Equal(t, "A story.\n\n> one\n<one>\n> two\n<two>\n\n# comment\nprose stays\n> three\n<three>\n", got)
	assert.Equal(t, got, play(got, func(command string) string { return "<" + command + ">\n" }), "playing is stable")
}
