package tui

import "github.com/charmbracelet/bubbles/key"

// keyMap are the keys of all pages.
type keyMap struct {
	up, down, pageUp, pageDown, top, bottom       key.Binding
	open, back, filter, sort, reverse, pause      key.Binding
	help, quit, interrupt, suspend, accept, abort key.Binding
	probe, yes                                    key.Binding

	// the list
	fold, unfold, group, severity, columns, namespace key.Binding
	// a pod's page: tabs, what is copied, what would be if
	nextTab, prevTab, tab, copyNow, copyFix, summary, search, nextHit, whatIf key.Binding
	lessWorkers, moreWorkers, lessBacklog, moreBacklog                        key.Binding
	// time
	back10, forward10, back60, forward60, back1, forward1, prevEvent, nextEvent key.Binding
	slower, faster                                                              key.Binding
	// what is kept
	mark, unmark, record, report, evidence, mouse key.Binding
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

		fold:      bind([]string{"left", "h"}, "←/h", "fold"),
		unfold:    bind([]string{"right", "l"}, "→/l", "unfold"),
		group:     bind([]string{"w"}, "w", "by workload"),
		severity:  bind([]string{"f"}, "f", "severity"),
		columns:   bind([]string{"c"}, "c", "columns"),
		namespace: bind([]string{"a"}, "a", "namespace"),

		nextTab: bind([]string{"tab", "right", "l"}, "→/tab", "next tab"),
		prevTab: bind([]string{"shift+tab", "left", "h"}, "←", "tab before"),
		tab:     bind([]string{"1", "2", "3", "4", "5", "6"}, "1-6", "tab"),
		copyNow: bind([]string{"c"}, "c", "copy NOW"),
		copyFix: bind([]string{"C"}, "C", "copy FIX"),
		summary: bind([]string{"y"}, "y", "summary"),
		search:  bind([]string{"/"}, "/", "search"),
		nextHit: bind([]string{"n"}, "n", "next hit"),
		whatIf:  bind([]string{"x"}, "x", "what if"),

		lessWorkers: bind([]string{"<"}, "<", "fewer workers"),
		moreWorkers: bind([]string{">"}, ">", "more workers"),
		lessBacklog: bind([]string{"-"}, "-", "half backlog"),
		moreBacklog: bind([]string{"="}, "=", "double backlog"),

		back10:    bind([]string{"["}, "[", "10 s back"),
		forward10: bind([]string{"]"}, "]", "10 s on"),
		back60:    bind([]string{"{"}, "{", "1 min back"),
		forward60: bind([]string{"}"}, "}", "1 min on"),
		back1:     bind([]string{"("}, "(", "one tick back"),
		forward1:  bind([]string{")"}, ")", "one tick on"),
		prevEvent: bind([]string{","}, ",", "event before"),
		nextEvent: bind([]string{"."}, ".", "next event"),
		slower:    bind([]string{"<"}, "<", "slower"),
		faster:    bind([]string{">"}, ">", "faster"),

		mark:     bind([]string{"m"}, "m", "mark"),
		unmark:   bind([]string{"M"}, "M", "no mark"),
		record:   bind([]string{"R"}, "R", "record"),
		report:   bind([]string{"W"}, "W", "write report"),
		evidence: bind([]string{"E"}, "E", "evidence"),
		mouse:    bind([]string{"ctrl+t"}, "ctrl-t", "mouse"),
	}
}

// keySet is what one page offers; it is the help.KeyMap of that page.
type keySet struct {
	short []key.Binding
}

func (k keySet) ShortHelp() []key.Binding  { return k.short }
func (k keySet) FullHelp() [][]key.Binding { return nil }

// list names the keys of the list's last line: at 80 columns help must be in sight.
func (k keyMap) list(width int) keySet {
	if width < 100 {
		return keySet{short: []key.Binding{k.open, k.filter, k.sort, k.help, k.quit, k.severity, k.mark, k.pause, k.evidence}}
	}
	folding := key.NewBinding(key.WithKeys("left", "right"), key.WithHelp("←→", "fold"))
	return keySet{short: []key.Binding{k.open, folding, k.filter, k.sort, k.severity, k.mark, k.pause, k.evidence, k.help, k.quit}}
}

// keyGroup is a part of the help page.
type keyGroup struct {
	title string
	keys  []key.Binding
}

// groups are all keys that mean something, as the help page lists them.
func (k keyMap) groups() []keyGroup {
	return []keyGroup{
		{"Move", []key.Binding{k.up, k.down, k.pageUp, k.pageDown, k.top, k.bottom, k.open, k.back}},
		{"The list", []key.Binding{
			k.filter, k.accept, k.abort, k.severity, k.sort, k.reverse, k.group, k.fold, k.unfold, k.columns, k.namespace,
		}},
		{"A pod's page", []key.Binding{
			k.tab, k.nextTab, k.prevTab, k.copyNow, k.copyFix, k.summary, k.search, k.nextHit,
			k.whatIf, k.lessWorkers, k.moreWorkers, k.lessBacklog, k.moreBacklog,
		}},
		{"Time", []key.Binding{
			k.pause, k.back10, k.forward10, k.back60, k.forward60, k.back1, k.forward1, k.prevEvent, k.nextEvent, k.mark, k.unmark,
			k.slower, k.faster,
		}},
		{"Keep", []key.Binding{k.record, k.report, k.evidence, k.probe, k.yes}},
		{"The screen", []key.Binding{k.help, k.mouse, k.quit, k.interrupt, k.suspend}},
	}
}

func (k keyMap) detail(p *podPage, width int) keySet {
	short := []key.Binding{k.back}
	if width >= 92 || p.tab != verdictTab {
		short = append(short, k.tab)
	}
	switch {
	case p.ifs.on:
		short = append(short, k.whatIf, k.lessWorkers, k.moreWorkers, k.lessBacklog, k.moreBacklog)
	case p.tab == verdictTab && width < 92:
		short = append(short, k.copyNow, k.copyFix, k.summary)
	case p.tab == verdictTab:
		short = append(short, k.copyNow, k.copyFix, k.summary, k.whatIf)
	case p.tab == rawTab:
		short = append(short, k.search, k.nextHit)
	case p.tab == eventsTab:
		short = append(short, k.prevEvent, k.nextEvent)
	default:
		short = append(short, k.whatIf, k.mark, k.pause)
	}
	return keySet{short: append(short, k.evidence, k.help, k.quit)}
}

func (k keyMap) helpPage() keySet {
	return keySet{short: []key.Binding{k.back, k.up, k.down, k.quit}}
}
