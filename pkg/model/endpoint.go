package model

// Endpoint is where a proxy serves its metrics, inside its pod.
type Endpoint struct {
	// Port of the admin listener; 0 when the pod has none.
	Port uint16
	// Why says why the port is 0, or that it is a guess and what would settle it;
	// empty otherwise.
	Why string
	// Metrics and Ready are paths: "/metrics", "/ready". Ready may be empty.
	Metrics string
	Ready   string
}
