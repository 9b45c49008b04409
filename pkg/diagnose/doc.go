// Package diagnose turns the history of a pod into verdicts: what is wrong with
// its queues, on what evidence, what helps and what does not.
//
// It is pure. Judge derives a small set of facts from the samples (facts.go,
// listener.go, workers.go), and the rules in the table of rules.go, one a file,
// look at these alone. The thresholds stand in one table, each with its reason,
// in thresholds.go. There is no state between two calls: what keeps a verdict
// steady is the window that it is taken from. Keep carries from one call to the
// next since when a verdict has held.
//
// The arguments are physical ones. A queue that is full while nothing is
// accepted is one thing, whatever the program; one that is full while
// connections are accepted needs the workers' figures to be told apart further.
// Where these are unknown, the verdict is undecided and names the candidates.
package diagnose
