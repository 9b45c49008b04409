package tui

// pageLines are the lines of the page that scrolls.
func (a *app) pageLines() []string {
	if a.page == helpPage {
		return a.helpLines()
	}
	return a.detailLines()
}
