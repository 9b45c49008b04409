package tui

// configTab is what was asked for and what is in force, and where the figures of all
// tabs come from.
func (d *detail) configTab() {
	d.knobs()
	d.notes()
	d.unknowns()
	d.collection()
}
