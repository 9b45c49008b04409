package tui

import (
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// fewSpaces is how many namespaces one key goes through; of more one is chosen from
// a list.
const fewSpaces = 5

// nextSpace shows the next namespace alone, after the last one all of them.
func (a *app) nextSpace() {
	switch {
	case len(a.spaces) < 2:
		a.say("all pods are of one namespace")
	case len(a.spaces) > fewSpaces:
		a.chooseSpace()
	default:
		// The last one is followed by all, which is the empty name.
		all := append([]string{""}, a.spaces...)
		a.setSpace(all[(slices.Index(all, a.space)+1)%len(all)])
	}
}

func (a *app) setSpace(name string) {
	a.space = name
	a.grow()
}

func (a *app) chooseSpace() {
	all := append([]string{""}, a.spaces...)
	names := make([]string, len(all))
	for i, name := range all {
		names[i] = orElse(name == "", "all namespaces", render.Clean(name))
	}
	a.chooser = &chooser{
		title: "Namespace", keys: "⏎ choose  esc close", names: names, at: max(0, slices.Index(all, a.space)), one: true,
		on:     func(i int) bool { return all[i] == a.space },
		toggle: func(i int) { a.setSpace(all[i]) },
	}
}
