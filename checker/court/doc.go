// Package court puts a program on trial: it reads an experiment, runs it in a world, lets the judges read what the
// clients saw and what the broker did, and keeps what is needed to do it again.
//
// It owns the experiment file (experiment.txtar), the identity of a run, the run directory, the choice of the judges'
// order, the verdict, and the worlds of an experiment: sim (the simulated operating system) and real (operating-system
// processes). It never judges by itself, and never decides a fault: plans are netsim/nemesis, anomalies are
// checker/oracle and checker/linear. The command line is its only caller.
//
// Invariants: a plan and a workload derive from the seed and the name of the cell alone, so that a rule switched off
// changes neither; a verdict is never an exception (what cannot be decided is Unknown, with its reasons); what a world
// cannot express is Unknown, never Valid.
//
// The format of an experiment is described in package experiment, that of a run directory at [Run].
package court
