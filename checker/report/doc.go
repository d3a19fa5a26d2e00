// Package report turns what a run left behind into one HTML file that a person understands: the verdict in a sentence,
// the story of each anomaly, a timeline, the logs offset by offset, and what the processes said.
//
// It owns the file's data part ([Data]), its page (assets: plain HTML, CSS and JavaScript, embedded), and the list of runs
// that `trialog serve` shows. It never judges: the verdict is taken as it is, and what it does not say (which records are
// gone, when a process lived) is read off the history and the events. Package court calls it for every run directory that
// it writes; the command line for those that are there.
//
// Invariants: equal input gives equal bytes. The file asks for nothing outside itself. Its size and its number of elements
// are bounded, see [OperationsMax], [RecordsMax] and [OutputMax]; what was left out is said on the page.
package report
