package explorecmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"trialog/checker/explore"
	"trialog/checker/worlds/producer"
	"trialog/core/client/retry"
	"trialog/core/producers"
	"trialog/core/replica"
)

// producerSettles is more than any state of a world with a few batches needs.
const producerSettles = 100

// producerCommand explores the client's retries and the brokers' memory of producers.
func producerCommand() *cobra.Command {
	var f flags
	var mutants []string
	var settle bool
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
			for _, name := range mutants {
				room, rule, _ := strings.Cut(name, ".")
				if !(room == "client" && cfg.Client.Off(rule) || room == "producers" && cfg.Producers.Off(rule) || room == "replica" && cfg.Replica.Off(rule)) {
					return fmt.Errorf("explore: --mutant %q: no such rule of client, producers or replica", name)
				}
			}
			w, err := producer.New(cfg)
			if err != nil {
				return fmt.Errorf("explore: --%w", err)
			}
			s := subject[producer.State]{world: w, invariants: w.Invariants(), sometimes: w.Sometimes(), faults: cfg.Total}
			s.below = func(n int) (explore.World[producer.State], error) {
				cfg := cfg
				cfg.Total = n
				return producer.New(cfg)
			}
			if settle {
				s.invariants = append(s.invariants, explore.Settles(w, producerSettles))
			}
			s.title = "producer: " + w.String()
			if len(mutants) > 0 {
				s.title += ", without " + strings.Join(mutants, ", ")
			}
			return s.run(c, &f)
		},
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Batches, "batches", cfg.Batches, "of one record, that are ever sent")
	fs.IntVar(&cfg.InFlight, "in-flight", cfg.InFlight, "max.in.flight.requests.per.connection; the client keeps to five")
	fs.IntVar(&cfg.MinISR, "min-isr", cfg.MinISR, "min.insync.replicas")
	fs.BoolVar(&cfg.Bump, "bump", false, "the next identity is the same producer id in the next epoch")
	fs.IntVar(&cfg.Total, "faults", 0, "most faults of all kinds together")
	b := &cfg.Faults
	for _, kind := range []struct {
		most       *int
		name, text string
	}{
		{&b.Break, "break", "most connections that break, or requests that time out at the broker"}, {&b.Elect, "elect", "most elections"},
		{&b.Crash, "crash", "most deaths of a broker, whose log stays"}, {&b.Lose, "lose", "most power cuts, which lose the last record"},
		{&b.Lag, "lag", "most followers that are behind for long"}, {&b.Unclean, "unclean", "most unclean elections"},
		{&b.Late, "late", "most batches that run out of time"}, {&b.Restart, "restart", "most deaths of the producer"},
	} {
		fs.IntVar(kind.most, kind.name, producer.AsManyAsFaults, kind.text+"; -1: as many as faults")
	}
	fs.BoolVar(&settle, "settle", false, "also: from every state every batch gets its outcome when no more faults come")
	fs.StringSliceVar(&mutants, "mutant", nil, "switch these rules off")
	f.add(fs)
	return c
}
