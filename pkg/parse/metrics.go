package parse

import (
	"math"

	dto "github.com/prometheus/client_model/go"
)

// Metrics are the samples of one metrics page, found by the name that stands on
// the page: x_total, x_bucket, x_sum. What the page says of types is not used,
// since the two formats that proxies mix disagree on it: an OpenMetrics counter
// has its TYPE without _total.
//
// The zero Metrics, and a nil one, hold no sample.
type Metrics struct {
	families map[string]*dto.MetricFamily
	samples  int
	// text is what was read: the wanted lines, and the sums in place of many others.
	text string
}

// Text gives the samples that were read, a line each, as they stood on the page;
// sums stand for those that were summed up.
func (m *Metrics) Text() string {
	if m == nil {
		return ""
	}
	return m.text
}

// Len is the number of samples.
func (m *Metrics) Len() int {
	if m == nil {
		return 0
	}
	return m.samples
}

// Value gives the first sample of that name whose labels include the given
// pairs of name and value. A sample that is NaN was not measured: it is passed
// over.
func (m *Metrics) Value(sample string, labels ...string) (float64, bool) {
	for _, s := range m.named(sample) {
		if v, ok := sampleValue(s); ok && !math.IsNaN(v) && hasLabels(s, labels) {
			return v, true
		}
	}
	return 0, false
}

// Sum adds up all samples that Value would choose from; false when there is none.
func (m *Metrics) Sum(sample string, labels ...string) (float64, bool) {
	sum, found := 0.0, false
	for _, s := range m.named(sample) {
		if v, ok := sampleValue(s); ok && !math.IsNaN(v) && hasLabels(s, labels) {
			sum += v
			found = true
		}
	}
	return sum, found
}

// Label gives the label's value from the first sample of that name that has it.
func (m *Metrics) Label(sample, label string) (string, bool) {
	for _, s := range m.named(sample) {
		for _, pair := range s.GetLabel() {
			if pair.GetName() == label {
				return pair.GetValue(), true
			}
		}
	}
	return "", false
}

// Each calls f for every sample of that name in the order of the page, NaN
// included.
func (m *Metrics) Each(sample string, f func(labels map[string]string, value float64)) {
	for _, s := range m.named(sample) {
		v, ok := sampleValue(s)
		if !ok {
			continue
		}
		labels := make(map[string]string, len(s.GetLabel()))
		for _, pair := range s.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		f(labels, v)
	}
}

func (m *Metrics) named(sample string) []*dto.Metric {
	if m == nil {
		return nil
	}
	return m.families[sample].GetMetric()
}

// sampleValue tells a value that was read from none: expfmt leaves a sample
// without one behind where it stopped, and that must not become a 0.
func sampleValue(s *dto.Metric) (float64, bool) {
	if s.GetUntyped() == nil {
		return 0, false
	}
	return s.GetUntyped().GetValue(), true
}

// hasLabels says whether all pairs are among the sample's labels. A name
// without a value matches nothing.
func hasLabels(s *dto.Metric, pairs []string) bool {
	for i := 0; i < len(pairs); i += 2 {
		if i+1 == len(pairs) || !hasLabel(s, pairs[i], pairs[i+1]) {
			return false
		}
	}
	return true
}

func hasLabel(s *dto.Metric, name, value string) bool {
	for _, pair := range s.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue() == value
		}
	}
	return value == "" // as in PromQL
}
