package explorecmd

import (
	"github.com/spf13/cobra"

	"trialog/checker/worlds/replication"
	"trialog/core/controller"
	"trialog/core/replica"
)

// replicationSettles is how many steps of the schedule without faults a world of this size may need; the longest seen is below 40.
const replicationSettles = 100

// replicationCommand explores the machines that ship.
func replicationCommand() *cobra.Command {
	var f shipping
	cfg := replication.Config{Brokers: 2, Records: 1, MaxEpoch: 2, MinISR: 1}
	c := &cobra.Command{
		Use:   "replication",
		Short: "one partition on a few brokers: the machines of replica and controller that ship",
		Long: `One partition on a few brokers and a controller: the very machines that the broker is made of, with messages that are late
or lost, deaths, power cuts, sessions that end, elections. --faults bounds all faults together, and each kind may be bounded
further. Budgets of 0, 1, 2 and so on are searched in turn; what heals is never bounded. An exhausted search says: verified
up to so many faults, for so many brokers, records and epochs.

A power cut loses the last record of a log, and its HW. What survives it is promised with min.insync.replicas above the
number of unclean restarts, deaths included (KIP-966).`,
		Example: `  trialog explore replication --brokers 3 --faults 1
  trialog explore replication --faults 2 --lose 1 --crash 0 --min-isr 2 --elr
  trialog explore replication --mutant replica.maximal-isr --faults 1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg.Replica, cfg.Controller = replica.AllRules(), controller.AllRules()
			if err := f.switchOff(ruleRoom{"replica", cfg.Replica.Off}, ruleRoom{"controller", cfg.Controller.Off}); err != nil {
				return err
			}
			return exploreShipping(c, &f, cfg.Total, replicationSettles, func(faults int) (*replication.World, error) {
				cfg := cfg
				cfg.Total = faults
				return replication.New(cfg)
			}, func(w *replication.World) string { return "replication: " + w.String() })
		},
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Brokers, "brokers", cfg.Brokers, "how many")
	fs.IntVar(&cfg.Records, "records", cfg.Records, "records that are ever appended")
	fs.IntVar(&cfg.MaxEpoch, "epochs", cfg.MaxEpoch, "largest leader epoch; the first is 0")
	fs.IntVar(&cfg.MinISR, "min-isr", cfg.MinISR, "min.insync.replicas")
	fs.BoolVar(&cfg.ELR, "elr", false, "eligible leader replicas (eligible.leader.replicas.version 1)")
	fs.BoolVar(&cfg.AcksOne, "acks-one", false, "producers append with acks=1, too, also below min.insync.replicas")
	b := &cfg.Faults
	addKinds(fs,
		kind{&b.Crash, "crash", "most deaths of a process, whose log stays"}, kind{&b.Fence, "fence", "most sessions of live brokers that end"},
		kind{&b.Lag, "lag", "most followers that are behind for long"}, kind{&b.Drop, "drop", "most messages that are lost or answered too late"},
		kind{&b.Elect, "elect", "most elections that are asked for"},
	)
	fs.IntVar(&b.Lose, "lose", 0, "most power cuts, which lose the last record and the HW")
	f.add(fs, &cfg.Total, "also: from every state the world converges when no more faults come")
	return c
}
