package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// command is one line of commands.txt and the lines below it that begin with "<", which are its standard input.
type command struct {
	line  int
	tool  string
	args  []string
	stdin string
}

func (c command) String() string { return fmt.Sprintf("%d-%s", c.line, c.tool) }

// mains are the classes that the scripts of Kafka's distribution run.
var mains = map[string]string{
	"kafka-cluster":            "org.apache.kafka.tools.ClusterTool",
	"kafka-configs":            "org.apache.kafka.tools.ConfigCommand",
	"kafka-console-consumer":   "org.apache.kafka.tools.consumer.ConsoleConsumer",
	"kafka-console-producer":   "org.apache.kafka.tools.ConsoleProducer",
	"kafka-delete-records":     "org.apache.kafka.tools.DeleteRecordsCommand",
	"kafka-get-offsets":        "org.apache.kafka.tools.GetOffsetShell",
	"kafka-groups":             "org.apache.kafka.tools.GroupsCommand",
	"kafka-log-dirs":           "org.apache.kafka.tools.LogDirsCommand",
	"kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
	"kafka-topics":             "org.apache.kafka.tools.TopicCommand",
	"kafka-transactions":       "org.apache.kafka.tools.TransactionsCommand",
}

// readCommands reads commands.txt. Arguments are separated by spaces; one in single quotes may have them inside. "file
// NAME" is no command: it writes its standard input to $WORK/NAME.
func readCommands(work string) ([]command, error) {
	text, err := os.ReadFile(filepath.Join("testdata", "commands.txt"))
	if err != nil {
		return nil, err
	}
	var all []command
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "<"):
			all[len(all)-1].stdin += strings.ReplaceAll(strings.TrimPrefix(line[1:], " "), `\t`, "\t") + "\n"
		default:
			words := split(strings.ReplaceAll(line, "$WORK", work))
			all = append(all, command{line: i + 1, tool: words[0], args: words[1:]})
		}
	}
	var commands []command
	for _, c := range all {
		if c.tool != "file" {
			commands = append(commands, c)
		} else if err := os.WriteFile(filepath.Join(work, c.args[0]), []byte(c.stdin), 0o644); err != nil {
			return nil, err
		}
	}
	return commands, nil
}

func split(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
