package topiccmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/client"
)

func topicAlter() *cobra.Command {
	var f cli.ClusterFlags
	var set, unset []string
	var partitions int32
	c := &cobra.Command{
		Use:   "alter NAME",
		Short: "change settings of a topic, or give it more partitions",
		Long: `Change settings of a topic, all at once or none, then its number of partitions, which can only grow. What is not
named stays.`,
		Example: `  trialog topic alter orders --config flush.messages=1 --delete-config retention.ms
  trialog topic alter orders --partitions 12`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringArrayVar(&set, "config", nil, "key=value, a setting of the topic; repeat for more")
	c.Flags().StringArrayVar(&unset, "delete-config", nil, "key, a setting that falls back to the broker's; repeat for more")
	c.Flags().Int32Var(&partitions, "partitions", 0, "number of partitions from now on")
	return f.Command(c, func(cl *client.Client, args []string) error {
		changes, err := changesOf(set, unset)
		if err != nil {
			return err
		}
		if len(changes) == 0 && !c.Flags().Changed("partitions") {
			return fmt.Errorf("topic alter: nothing to change: give --config, --delete-config or --partitions")
		}
		if len(changes) > 0 {
			if err := cl.AlterTopic(c.Context(), args[0], changes); err != nil {
				return cli.Outcome(err)
			}
		}
		if c.Flags().Changed("partitions") {
			if err := cl.AddPartitions(c.Context(), args[0], partitions); err != nil {
				return cli.Outcome(err)
			}
		}
		if f.JSON {
			return describeJSON(c, cl, args[0])
		}
		return nil
	})
}

func changesOf(set, unset []string) ([]client.SettingChange, error) {
	var changes []client.SettingChange
	for _, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("topic alter: --config %q is not key=value", s)
		}
		changes = append(changes, client.SettingChange{Name: name, Value: value})
	}
	for _, name := range unset {
		changes = append(changes, client.SettingChange{Name: name, Delete: true})
	}
	return changes, nil
}

func topicDeleteRecords() *cobra.Command {
	var f cli.ClusterFlags
	var before []string
	c := &cobra.Command{
		Use:     "delete-records NAME",
		Short:   "delete the oldest records of partitions",
		Long:    `Delete the records of partitions below an offset; -1 is everything that consumers can see. There is no way back.`,
		Example: `  trialog topic delete-records orders --before 0:1000 --before 1:-1`,
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().StringArrayVar(&before, "before", nil, "PARTITION:OFFSET; repeat for more")
	c.MarkFlagRequired("before")
	return f.Command(c, func(cl *client.Client, args []string) error {
		type cut struct {
			partition int32
			offset    int64
		}
		var cuts []cut
		for _, text := range before {
			p, o, _ := strings.Cut(text, ":")
			partition, err1 := strconv.ParseInt(p, 10, 32)
			offset, err2 := strconv.ParseInt(o, 10, 64)
			if err1 != nil || err2 != nil || partition < 0 || offset < -1 {
				return fmt.Errorf("topic delete-records: --before %q is not PARTITION:OFFSET", text)
			}
			cuts = append(cuts, cut{int32(partition), offset})
		}
		for _, at := range cuts {
			start, err := cl.DeleteRecords(c.Context(), args[0], at.partition, at.offset)
			if err != nil {
				return cli.Outcome(err)
			}
			if f.JSON {
				cli.PrintJSON(c.OutOrStdout(), map[string]any{"topic": args[0], "partition": at.partition, "earliest": start})
				continue
			}
			fmt.Fprintf(c.OutOrStdout(), "%s-%d begins at offset %d\n", args[0], at.partition, start)
		}
		return nil
	})
}
