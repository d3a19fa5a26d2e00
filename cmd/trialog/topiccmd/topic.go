// Package topiccmd holds `trialog topic`. It is not linked into the program that runs inside the simulator.
package topiccmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/client"
)

// Command makes it.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "topic",
		Short: "create, list, describe, alter and delete topics",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			c.Help()
			return cli.Exit(cli.Usage, nil)
		},
	}
	c.AddCommand(topicCreate(), topicList(), topicDescribe(), topicAlter(), topicDeleteRecords(), topicDelete())
	return c
}

func topicCreate() *cobra.Command {
	var f cli.ClusterFlags
	var t client.NewTopic
	var settings []string
	c := &cobra.Command{
		Use:     "create NAME",
		Short:   "create a topic",
		Example: `  trialog topic create orders --partitions 3 --config retention.ms=86400000`,
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().Int32Var(&t.Partitions, "partitions", 0, "number of partitions; 0: the broker's default")
	c.Flags().Int16Var(&t.ReplicationFactor, "replication-factor", 0, "copies of each partition; 0: the broker's default")
	c.Flags().StringArrayVar(&settings, "config", nil, "key=value, a setting of the topic; repeat for more")
	return f.Command(c, func(cl *client.Client, args []string) error {
		t.Name = args[0]
		for _, s := range settings {
			name, value, ok := strings.Cut(s, "=")
			if !ok || name == "" {
				return fmt.Errorf("topic create: --config %q is not key=value", s)
			}
			t.Config = append(t.Config, client.ConfigPair{Name: name, Value: value})
		}
		if err := cl.CreateTopic(c.Context(), t); err != nil {
			return cli.Outcome(err)
		}
		if f.JSON {
			return describeJSON(c, cl, t.Name)
		}
		return nil
	})
}

func topicList() *cobra.Command {
	var f cli.ClusterFlags
	c := &cobra.Command{Use: "list", Short: "list the topics", Args: cobra.NoArgs}
	return f.Command(c, func(cl *client.Client, _ []string) error {
		cluster, err := cl.Metadata(c.Context())
		if err != nil {
			return cli.Outcome(err)
		}
		for i := range cluster.Topics {
			if f.JSON {
				cli.PrintJSON(c.OutOrStdout(), topicView(&cluster.Topics[i]))
				continue
			}
			fmt.Fprintln(c.OutOrStdout(), cluster.Topics[i].Name)
		}
		return nil
	})
}

func topicDescribe() *cobra.Command {
	var f cli.ClusterFlags
	c := &cobra.Command{
		Use:   "describe NAME",
		Short: "show a topic: partitions, settings of its own, when it is flushed and what that survives",
		Args:  cobra.ExactArgs(1),
	}
	return f.Command(c, func(cl *client.Client, args []string) error {
		if f.JSON {
			return describeJSON(c, cl, args[0])
		}
		return describeTable(c, cl, args[0])
	})
}

func topicDelete() *cobra.Command {
	var f cli.ClusterFlags
	c := &cobra.Command{Use: "delete NAME", Short: "delete a topic and its records", Args: cobra.ExactArgs(1)}
	return f.Command(c, func(cl *client.Client, args []string) error {
		if err := cl.DeleteTopic(c.Context(), args[0]); err != nil {
			return cli.Outcome(err)
		}
		if f.JSON {
			return cli.PrintJSON(c.OutOrStdout(), map[string]string{"deleted": args[0]})
		}
		return nil
	})
}

// jsonTopic is how a topic is printed for programs.
type jsonTopic struct {
	Name       string          `json:"name"`
	ID         string          `json:"id,omitempty"`
	Internal   bool            `json:"internal,omitempty"`
	Partitions []jsonPartition `json:"partitions"`

	Config     map[string]string `json:"config,omitempty"` // what is set for the topic itself
	Durability *durability       `json:"durability,omitempty"`
}

type jsonPartition struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leader_epoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	Earliest    *int64  `json:"earliest,omitempty"`
	Latest      *int64  `json:"latest,omitempty"`
}

func topicView(t *client.TopicInfo) jsonTopic {
	v := jsonTopic{Name: t.Name, Internal: t.Internal, Partitions: []jsonPartition{}}
	if !t.ID.IsZero() {
		v.ID = t.ID.String()
	}
	for _, p := range t.Partitions {
		v.Partitions = append(v.Partitions, jsonPartition{
			Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR,
		})
	}
	return v
}

// ownSource is the source of a setting that was given to the topic.
const ownSource = "DYNAMIC_TOPIC_CONFIG"

// describe asks for one topic and the bounds of its partitions.
func describe(c *cobra.Command, cl *client.Client, name string) (jsonTopic, error) {
	cluster, err := cl.Metadata(c.Context(), name)
	if err != nil {
		return jsonTopic{}, cli.Outcome(err)
	}
	if len(cluster.Topics) != 1 {
		return jsonTopic{}, cli.Exit(cli.Failed, fmt.Errorf("topic %s: the broker answered about %d topics", name, len(cluster.Topics)))
	}
	v := topicView(&cluster.Topics[0])
	for i := range v.Partitions {
		p := &v.Partitions[i]
		earliest, err := cl.ListOffset(c.Context(), name, p.Partition, client.Earliest)
		if err != nil {
			return v, cli.Outcome(err)
		}
		latest, err := cl.ListOffset(c.Context(), name, p.Partition, client.Latest)
		if err != nil {
			return v, cli.Outcome(err)
		}
		p.Earliest, p.Latest = &earliest.Offset, &latest.Offset
	}
	settings, err := cl.TopicSettings(c.Context(), name)
	if err != nil {
		return v, cli.Outcome(err)
	}
	for _, s := range settings {
		if s.Source == ownSource {
			if v.Config == nil {
				v.Config = map[string]string{}
			}
			v.Config[s.Name] = s.Value
		}
	}
	if len(v.Partitions) > 0 && v.Partitions[0].Leader >= 0 {
		if v.Durability, err = durabilityOf(c.Context(), cl, name, v.Partitions[0].Leader); err != nil {
			return v, cli.Outcome(err)
		}
	}
	return v, nil
}

func describeJSON(c *cobra.Command, cl *client.Client, name string) error {
	v, err := describe(c, cl, name)
	if err != nil {
		return err
	}
	return cli.PrintJSON(c.OutOrStdout(), v)
}

func describeTable(c *cobra.Command, cl *client.Client, name string) error {
	v, err := describe(c, cl, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "topic %s  id %s\n", v.Name, v.ID)
	for _, key := range slices.Sorted(maps.Keys(v.Config)) {
		fmt.Fprintf(c.OutOrStdout(), "config: %s=%s\n", key, v.Config[key])
	}
	if v.Durability != nil {
		fmt.Fprintln(c.OutOrStdout(), strings.Join(v.Durability.lines(), "\n"))
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "partition\tleader\tepoch\treplicas\tisr\tearliest\tlatest")
	for _, p := range v.Partitions {
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%d\t%d\n", p.Partition, p.Leader, p.LeaderEpoch,
			list(p.Replicas), list(p.ISR), *p.Earliest, *p.Latest)
	}
	return w.Flush()
}

// list writes node ids as 1,2,3.
func list(nodes []int32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(nodes), " ", ","), "[]")
}
