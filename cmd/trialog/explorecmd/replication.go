package explorecmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"trialog/checker/worlds/replication"
	"trialog/core/controller"
	"trialog/core/replica"
)

// replicationCommand explores the machines that ship.
func replicationCommand() *cobra.Command {
	var f flags
	var mutants []string
	cfg := replication.Config{Brokers: 2, Records: 1, MaxEpoch: 2, MinISR: 1}
	c := &cobra.Command{
		Use:   "replication",
		Short: "one partition on a few brokers: the machines of replica and controller that ship",
		Long: `One partition on a few brokers and a controller: the very machines that the broker is made of, with messages that are late
or lost, deaths, power cuts, sessions that end, elections. Each kind of fault has a budget, and --faults bounds all of
them together; what heals is never bounded. An exhausted search with a budget of n says: verified up to n faults, for so
many brokers, records and epochs.

A power cut loses the last record of a log. What survives it is promised with min.insync.replicas above the number of
unclean restarts, deaths included.`,
		Example: `  trialog explore replication --brokers 2 --crash 1 --fence 1 --lag 1 --drop 1 --elect 1 --faults 1
  trialog explore replication --lose 1 --fence 1 --lag 1 --faults 1 --min-isr 2 --elr
  trialog explore replication --mutant replica.maximal-isr --lag 1 --fence 1 --faults 1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg.Replica, cfg.Controller = replica.AllRules(), controller.AllRules()
			for _, name := range mutants {
				room, rule, _ := strings.Cut(name, ".")
				if !(room == "replica" && cfg.Replica.Off(rule) || room == "controller" && cfg.Controller.Off(rule)) {
					return fmt.Errorf("explore: --mutant %q: no such rule of replica or controller", name)
				}
			}
			w, err := replication.New(cfg)
			if err != nil {
				return fmt.Errorf("explore: --%w", err)
			}
			s := subject[replication.State]{world: w, invariants: w.Invariants(), sometimes: w.Sometimes()}
			s.title = fmt.Sprintf("replication: %d brokers, %d records, epochs 0 to %d, min.insync.replicas %d, up to %d faults of %+v", cfg.Brokers,
				cfg.Records, cfg.MaxEpoch, cfg.MinISR, cfg.Total, cfg.Faults)
			if len(mutants) > 0 {
				s.title += ", without " + strings.Join(mutants, ", ")
			}
			return s.run(c, &f)
		},
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Brokers, "brokers", cfg.Brokers, "how many")
	fs.IntVar(&cfg.Records, "records", cfg.Records, "records that are ever appended")
	fs.IntVar(&cfg.MaxEpoch, "epochs", cfg.MaxEpoch, "largest leader epoch; the first is 0")
	fs.IntVar(&cfg.MinISR, "min-isr", cfg.MinISR, "min.insync.replicas")
	fs.BoolVar(&cfg.ELR, "elr", false, "eligible leader replicas (eligible.leader.replicas.version 1)")
	fs.IntVar(&cfg.Total, "faults", 0, "most faults of all kinds together")
	fs.IntVar(&cfg.Faults.Crash, "crash", 0, "most deaths of a process, whose log stays")
	fs.IntVar(&cfg.Faults.Lose, "lose", 0, "most power cuts, which lose the last record")
	fs.IntVar(&cfg.Faults.Fence, "fence", 0, "most sessions of live brokers that end")
	fs.IntVar(&cfg.Faults.Lag, "lag", 0, "most followers that are behind for long")
	fs.IntVar(&cfg.Faults.Drop, "drop", 0, "most messages that are lost or answered too late")
	fs.IntVar(&cfg.Faults.Elect, "elect", 0, "most preferred elections that are asked for")
	fs.StringSliceVar(&mutants, "mutant", nil, "switch these rules off")
	f.add(fs)
	return c
}
