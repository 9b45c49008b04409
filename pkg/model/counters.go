package model

// Counters are figures of a network namespace since it was made. All containers
// of a pod share one namespace; a hostNetwork pod has the node's. They count
// packets, retransmits included, never connections, and a first reading is
// history: only a difference is evidence.
type Counters struct {
	// ListenOverflows: a SYN, or the last ACK of a handshake, met a full accept queue.
	ListenOverflows Value[int64] `json:"listenOverflows"`
	// ListenDrops: everything a listening socket dropped, overflows included.
	ListenDrops Value[int64] `json:"listenDrops"`
	// ReqQFullDoCookies and ReqQFullDrop: the SYN queue was full, answered by a
	// cookie or dropped. Bursts on the accept queue move these too.
	ReqQFullDoCookies Value[int64] `json:"reqQFullDoCookies"`
	ReqQFullDrop      Value[int64] `json:"reqQFullDrop"`
	SyncookiesSent    Value[int64] `json:"syncookiesSent"`
	SyncookiesRecv    Value[int64] `json:"syncookiesRecv"`
	// PassiveOpens: connections that entered an accept queue (Tcp PassiveOpens).
	PassiveOpens Value[int64] `json:"passiveOpens"`
	// Somaxconn is net.core.somaxconn of the namespace: it caps every backlog at
	// the moment listen() is called.
	Somaxconn Value[int64] `json:"somaxconn"`
}
