// Package remedy makes commands of the actions that verdicts name: lines that
// work as printed, with context and namespace, on the workload that owns the pod.
//
// It is pure. What it does not know it does not guess: where the list that an
// annotation holds cannot be read, no command replaces it; where Helm, Argo CD or
// Flux owns the workload, values for its manifest stand instead of a command
// that would be reverted. Everything that goes into a line is quoted for a shell.
package remedy
