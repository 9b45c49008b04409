package tui

import "github.com/charmbracelet/bubbles/key"

// keyMap are the keys of all pages.
type keyMap struct {
	up, down, pageUp, pageDown, top, bottom       key.Binding
	open, back, filter, sort, reverse, pause      key.Binding
	help, quit, interrupt, suspend, accept, abort key.Binding
	probe, yes                                    key.Binding
}

func newKeys() keyMap {
	bind := func(keys []string, name, does string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(name, does))
	}
	return keyMap{
		up:        bind([]string{"up", "k"}, "↑/k", "up"),
		down:      bind([]string{"down", "j"}, "↓/j", "down"),
		pageUp:    bind([]string{"pgup", "ctrl+b"}, "PgUp", "page up"),
		pageDown:  bind([]string{"pgdown", "ctrl+f", " "}, "PgDn", "page down"),
		top:       bind([]string{"g", "home"}, "g", "first"),
		bottom:    bind([]string{"G", "end"}, "G", "last"),
		open:      bind([]string{"enter", "right", "l"}, "⏎", "detail"),
		back:      bind([]string{"esc", "left", "h", "backspace"}, "esc", "back"),
		filter:    bind([]string{"/"}, "/", "filter"),
		sort:      bind([]string{"s"}, "s", "sort"),
		reverse:   bind([]string{"r"}, "r", "reverse"),
		pause:     bind([]string{"p"}, "p", "pause"),
		help:      bind([]string{"?"}, "?", "help"),
		quit:      bind([]string{"q"}, "q", "quit"),
		interrupt: bind([]string{"ctrl+c"}, "ctrl-c", "interrupt"),
		suspend:   bind([]string{"ctrl+z"}, "ctrl-z", "suspend"),
		accept:    bind([]string{"enter"}, "⏎", "keep"),
		probe:     bind([]string{"+"}, "+", "new probes"),
		yes:       bind([]string{"y", "Y"}, "y", "yes"),
		abort:     bind([]string{"esc"}, "esc", "clear"),
	}
}

// keySet is what one page offers; it is the help.KeyMap of that page.
type keySet struct {
	short []key.Binding
	full  [][]key.Binding
}

func (k keySet) ShortHelp() []key.Binding  { return k.short }
func (k keySet) FullHelp() [][]key.Binding { return k.full }

func (k keyMap) list() keySet {
	return keySet{
		short: []key.Binding{k.open, k.filter, k.sort, k.reverse, k.pause, k.help, k.quit},
		full: [][]key.Binding{
			{k.up, k.down, k.pageUp, k.pageDown, k.top, k.bottom},
			{k.open, k.back, k.filter, k.sort, k.reverse, k.pause},
			{k.probe, k.help, k.quit, k.interrupt, k.suspend},
		},
	}
}

func (k keyMap) detail() keySet {
	return keySet{short: []key.Binding{k.back, k.up, k.down, k.pageDown, k.top, k.bottom, k.pause, k.help, k.quit}}
}

func (k keyMap) helpPage() keySet {
	return keySet{short: []key.Binding{k.back, k.up, k.down, k.quit}}
}
