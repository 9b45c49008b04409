package model

// ListenerSetting is what a running proxy's own configuration asks for of one of
// its listeners.
type ListenerSetting struct {
	Port uint16
	// Role, where the configuration tells what the listener is for; empty otherwise.
	Role Role
	// Backlog that is asked for. Unset says that the configuration leaves it to the
	// program; Backlog is then unknown without a reason.
	Backlog Value[int64]
	Unset   bool
	// ReusePort says that each worker gets a socket, and so a queue, of its own.
	ReusePort Value[bool]
}
