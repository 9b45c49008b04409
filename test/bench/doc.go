// Command bench measures on a real cluster what looking costs: how long the
// first figures take, what a probe uses in its pod, and what the program itself
// uses with many pods on the screen. Figures that depend on the machine are
// printed beside the same job done with kubectl in the same run, as a ratio.
//
// It makes a namespace of its own and removes it. Run it on a quiet machine:
//
//	go run ./test/bench -kubeconfig KUBECONFIG [-only first,probe,fleet] [-runs 10] [-pods 50]
package main
