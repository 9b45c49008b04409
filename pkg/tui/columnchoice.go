package tui

import (
	"slices"
	"strings"
)

// wantedColumns is the choice that the options make: only the named ones. Names
// that mean no column are left out.
func wantedColumns(names []string) map[string]bool {
	wanted := map[string]bool{}
	if len(names) == 0 {
		return wanted
	}
	for _, c := range columns() {
		wanted[c.id()] = slices.ContainsFunc(names, func(name string) bool {
			return strings.EqualFold(name, c.id())
		})
	}
	return wanted
}

// chooseColumns opens the list of columns. What is chosen stays chosen until the
// screen is left, and comes before what nobody chose where there is little room.
func (a *app) chooseColumns() {
	names := ColumnNames()
	a.chooser = &chooser{
		title: "Columns", keys: "space on/off  ⏎ close", names: names,
		on: func(i int) bool { return a.showsColumn(names[i]) },
		toggle: func(i int) {
			a.wanted[names[i]] = !a.showsColumn(names[i])
		},
	}
}

// showsColumn says whether a column is on the screen at this moment.
func (a *app) showsColumn(id string) bool {
	if wanted, chosen := a.wanted[id]; chosen {
		return wanted
	}
	cols, _, end := a.place()
	if id == columnWhy {
		return a.width-end >= leastWhy
	}
	return slices.ContainsFunc(cols, func(c placed) bool { return c.id() == id })
}
