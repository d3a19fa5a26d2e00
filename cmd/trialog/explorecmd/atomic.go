package explorecmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"trialog/specs/replication"
)

// atomicCommand explores the published models of replication.
func atomicCommand() *cobra.Command {
	var f flags
	var variant string
	cfg := replication.Config{Bounds: replication.Bounds{Replicas: 3, LogSize: 2, Records: 2, MaxEpoch: 2}}
	c := &cobra.Command{
		Use:   "replication-atomic",
		Short: "the published models of Kafka's replication, in atomic steps",
		Long: `One partition, a controller, replicas that act on each other in atomic steps: the family of models that KIP-101,
KIP-279 and KIP-320 were argued with. Counts compare with those of TLC on the published modules.

Variants:
` + variantTable(replication.Variants) + `
Mutants of kip320, each with one guard weakened, are variants too:
` + variantTable(replication.Mutants),
		Example: `  trialog explore replication-atomic --variant kip320 --replicas 3 --log 2 --records 2 --epochs 2
  trialog explore replication-atomic --variant kip279 --leaderless --history --keep-going --epochs 3`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			flags, err := replication.FlagsOf(variant)
			if err != nil {
				return fmt.Errorf("explore: --%w", err)
			}
			cfg.Flags = flags
			for _, name := range f.invariants {
				cfg.History = cfg.History || name == "acked"
			}
			w, err := replication.New(cfg)
			if err != nil {
				return fmt.Errorf("explore: --%w", err)
			}
			s := subject[replication.State]{world: w, invariants: w.Invariants(), sometimes: w.Sometimes()}
			if cfg.History {
				s.invariants = append(s.invariants, w.AckedOnLeader())
			}
			b := cfg.Bounds
			s.title = fmt.Sprintf("replication-atomic %s: %d replicas, log %d, records %d, epochs 0 to %d", variant, b.Replicas, b.LogSize,
				b.Records, b.MaxEpoch)
			if cfg.Leaderless {
				s.title += ", leaderless"
			}
			if cfg.History {
				s.title += ", history"
			}
			return s.run(c, &f)
		},
	}
	fs := c.Flags()
	fs.StringVar(&variant, "variant", "kip320", "version of the protocol, or a mutant")
	fs.IntVar(&cfg.Bounds.Replicas, "replicas", cfg.Bounds.Replicas, "how many")
	fs.IntVar(&cfg.Bounds.LogSize, "log", cfg.Bounds.LogSize, "records that a log holds")
	fs.IntVar(&cfg.Bounds.Records, "records", cfg.Bounds.Records, "records that are ever written")
	fs.IntVar(&cfg.Bounds.MaxEpoch, "epochs", cfg.Bounds.MaxEpoch, "largest leader epoch; the first is 0")
	fs.BoolVar(&cfg.Leaderless, "leaderless", false, "replicas process requests without a leader, as brokers do; the published modules cannot")
	fs.BoolVar(&cfg.History, "history", false, "remember what was acknowledged: adds the invariant acked, and states")
	f.add(fs)
	return c
}

func variantTable(list []replication.Variant) string {
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "  %-26s %s\n", v.Name, v.Doc)
	}
	return b.String()
}
