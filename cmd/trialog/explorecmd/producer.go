package explorecmd

import (
	"github.com/spf13/cobra"

	"trialog/checker/worlds/producer"
	"trialog/core/client/retry"
	"trialog/core/producers"
	"trialog/core/replica"
)

// producerSettles is more than any state of a world with a few batches needs.
const producerSettles = 100

// producerCommand explores the client's retries and the brokers' memory of producers.
func producerCommand() *cobra.Command {
	var f shipping
	cfg := producer.Config{Batches: 3, InFlight: 2, MinISR: 1}
	c := &cobra.Command{
		Use:   "producer",
		Short: "an idempotent producer and one partition on two brokers: the machines that ship",
		Long: `One idempotent producer, whose retries core/client/retry decides, and one partition on two brokers, with what core/producers
remembers of it. Connections break, requests are late, leaders change, brokers die with and without their tails.
--faults bounds all faults together, and each kind may be bounded further. Budgets of 0, 1, 2 and so on are searched in turn.`,
		Example: `  trialog explore producer --faults 1 --settle
  trialog explore producer --faults 1 --mutant client.first-alone`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg.Client, cfg.Producers, cfg.Replica = retry.AllRules(), producers.AllRules(), replica.AllRules()
			err := f.switchOff(ruleRoom{"client", cfg.Client.Off}, ruleRoom{"producers", cfg.Producers.Off}, ruleRoom{"replica", cfg.Replica.Off})
			if err != nil {
				return err
			}
			return exploreShipping(c, &f, cfg.Total, producerSettles, func(faults int) (*producer.World, error) {
				cfg := cfg
				cfg.Total = faults
				return producer.New(cfg)
			}, func(w *producer.World) string { return "producer: " + w.String() })
		},
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Batches, "batches", cfg.Batches, "of one record, that are ever sent")
	fs.IntVar(&cfg.InFlight, "in-flight", cfg.InFlight, "max.in.flight.requests.per.connection; the client keeps to five")
	fs.IntVar(&cfg.MinISR, "min-isr", cfg.MinISR, "min.insync.replicas")
	fs.BoolVar(&cfg.Bump, "bump", false, "the next identity is the same producer id in the next epoch")
	b := &cfg.Faults
	addKinds(fs,
		kind{&b.Break, "break", "most connections that break, or requests that time out at the broker"}, kind{&b.Elect, "elect", "most elections"},
		kind{&b.Crash, "crash", "most deaths of a broker, whose log stays"}, kind{&b.Lose, "lose", "most power cuts, which lose the last record"},
		kind{&b.Lag, "lag", "most followers that are behind for long"}, kind{&b.Unclean, "unclean", "most unclean elections"},
		kind{&b.Late, "late", "most batches that run out of time"}, kind{&b.Restart, "restart", "most deaths of the producer"},
	)
	f.add(fs, &cfg.Total, "also: from every state every batch gets its outcome when no more faults come")
	return c
}
