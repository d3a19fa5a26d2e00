package explorecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	world "trialog/checker/worlds/controller"
	"trialog/core/controller"
)

// controllerSettles is more than any state of a world of a few brokers needs.
const controllerSettles = 60

// controllerCommand explores the controllers that ship.
func controllerCommand() *cobra.Command {
	var f shipping
	var every int
	var most [len(world.BudgetNames)]int
	cfg := world.Config{Brokers: 2, Controllers: 2, Topics: 1, Partitions: 1, Replicas: 2, MinISR: 1, Lag: 1, Pending: 1}
	c := &cobra.Command{
		Use:   "controller",
		Short: "a few brokers and two or three controllers over an abstract log: the machines that ship",
		Long: `Controllers with the metadata that they decide, over a log of committed batches of which one controller at a time is the
leader; brokers that register, beat, die and shut down, and ask for the ISRs of what they lead. Each kind of what befalls
them has a budget, and --faults bounds all of them together; what heals is never bounded. An exhausted search says:
verified up to so many of these, for so many brokers, controllers and partitions.

Of data the world knows who holds it: who is elected must hold everything, or the election must be known to be unclean.`,
		Example: `  trialog explore controller --each 2 --faults 2
  trialog explore controller --brokers 3 --replicas 3 --min-isr 2 --elr --each 2 --faults 2 --settle
  trialog explore controller --mutant controller.barrier-before-decisions --leader 1 --fence 1 --crash 1 --faults 2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg.Rules = controller.AllRules()
			if err := f.switchOff(ruleRoom{"controller", cfg.Rules.Off}); err != nil {
				return err
			}
			for i, n := range most {
				if !c.Flags().Changed(world.BudgetNames[i][0]) {
					n = every
				}
				if n < 0 || n > world.MaxBudget {
					return fmt.Errorf("explore: --%s %d: want 0 to %d", world.BudgetNames[i][0], n, world.MaxBudget)
				}
				cfg.Most[i] = uint8(n)
			}
			if err := onlyWithDirs(c, &cfg); err != nil {
				return err
			}
			return exploreShipping(c, &f, cfg.Total, controllerSettles, func(faults int) (*world.World, error) {
				cfg := cfg
				cfg.Total = faults
				return world.New(cfg)
			}, func(*world.World) string { return controllerTitle(&cfg) })
		},
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Brokers, "brokers", cfg.Brokers, "how many")
	fs.IntVar(&cfg.Controllers, "controllers", cfg.Controllers, "how many")
	fs.IntVar(&cfg.Topics, "topics", cfg.Topics, "how many")
	fs.IntVar(&cfg.Partitions, "partitions", cfg.Partitions, "of each topic")
	fs.IntVar(&cfg.Replicas, "replicas", cfg.Replicas, "of each partition")
	fs.IntVar(&cfg.MinISR, "min-isr", cfg.MinISR, "min.insync.replicas")
	fs.BoolVar(&cfg.ELR, "elr", false, "eligible leader replicas (eligible.leader.replicas.version 1)")
	fs.BoolVar(&cfg.Unclean, "unclean", false, "unclean.leader.election.enable")
	fs.BoolVar(&cfg.SessionsLast, "sessions-last", false, "a process is refused while the one before it has a session")
	fs.BoolVar(&cfg.Dirs, "dirs", false, "brokers have two log directories; then nothing is moved or removed")
	fs.IntVar(&cfg.Lag, "lag", cfg.Lag, "most batches of the log that a controller lacks when it is elected")
	fs.IntVar(&cfg.Pending, "pending", cfg.Pending, "most decisions that wait for the log")
	fs.IntVar(&every, "each", 0, "most of each kind that is not named")
	for i, name := range world.BudgetNames {
		fs.IntVar(&most[i], name[0], 0, "most "+name[1])
	}
	f.add(fs, &cfg.Total, "from every state, what heals must lead to a cluster that is whole")
	return c
}

// onlyWithDirs takes out the kinds that --dirs excludes, or that need it: a title must not promise what cannot befall. It is
// an error if they were asked for by name.
func onlyWithDirs(c *cobra.Command, cfg *world.Config) error {
	kinds, with := []int{world.Disk}, "needs --dirs"
	if cfg.Dirs {
		kinds, with = []int{world.Move, world.Remove}, "cannot be with --dirs"
	}
	for _, kind := range kinds {
		if name := world.BudgetNames[kind][0]; cfg.Most[kind] > 0 && c.Flags().Changed(name) {
			return fmt.Errorf("explore: --%s %d: %s", name, cfg.Most[kind], with)
		}
		cfg.Most[kind] = 0
	}
	return nil
}

func controllerTitle(cfg *world.Config) string {
	title := fmt.Sprintf("controller: %d brokers, %d controllers, %d partitions of %d replicas, min.insync.replicas %d", cfg.Brokers, cfg.Controllers,
		cfg.Topics*cfg.Partitions, cfg.Replicas, cfg.MinISR)
	for _, on := range []struct {
		is   bool
		name string
	}{{cfg.ELR, "elr"}, {cfg.Unclean, "unclean elections"}, {cfg.SessionsLast, "sessions last"}, {cfg.Dirs, "directories"}} {
		if on.is {
			title += ", " + on.name
		}
	}
	return title + fmt.Sprintf(", up to %d of %s", cfg.Total, cfg.Most)
}
