package tui

// queuesTab are the queues: how deep, who waits in them, and what was refused.
func (d *detail) queuesTab() {
	d.listeners()
	d.waiting()
	d.counters()
}
