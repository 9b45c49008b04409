// Package target turns what the user names into pods, and keeps that set
// current by a watch.
//
// A Query is resolved once into a Selection: for each thing named, a namespace
// with a label or field selector, and a filter where labels alone are not
// enough. That asks the API server for the named workloads only (verb get on
// their kind). An IP is looked for among pods, services and nodes (verb list),
// in all namespaces where that is allowed. Starting the Selection lists the
// pods, and from then on a client-go Reflector for each part keeps them current
// (verbs list and watch on pods). A user without watch is served too: the
// Reflector then lists again every few seconds, and Err says why.
//
// The package decides which pods are meant, never what is in them: which pods
// are meshed it is told by a function of the caller.
package target
