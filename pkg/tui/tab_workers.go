package tui

// workersTab are the workers: how many, how busy, and what keeps them from more.
func (d *detail) workersTab() {
	d.workers()
	d.threads()
}
