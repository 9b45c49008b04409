package parse

import (
	"bytes"
	"math"
	"strconv"
)

// Fold sums up samples while a page is read, by a few of their labels. A counter
// with a line for each client and route has thousands of them on the page of a
// busy proxy, of which a few sums are wanted, and reading one whole costs fifty
// times as much as adding it up.
type Fold struct {
	// Prefix is what the lines begin with, as far as the labels go.
	Prefix string
	// Keep are the labels that tell one sum from another; the others go.
	Keep []string
}

// maxSums bounds the sums of one fold. One with more is left out as a whole, since
// a part would pass for all.
const maxSums = 1000

// folding is a fold at work.
type folding struct {
	Fold
	sums  map[string]*sum
	order []*sum
	full  bool
	key   []byte
}

// sum is what became of the samples with the same kept labels.
type sum struct {
	sample string
	value  float64
	line   int // of the first of them
}

// take adds a sample up. A value that is NaN was not measured.
func (f *folding) take(sample []byte, value []byte, line int) (problem string) {
	v, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil:
		return "value is not a number"
	case math.IsNaN(v) || f.full:
		return ""
	}
	f.reduce(sample[:len(sample)-len(value)])
	s := f.sums[string(f.key)]
	if s == nil {
		if f.full = len(f.sums) == maxSums; f.full {
			f.sums, f.order = nil, nil
			return "there are too many kinds of this sample to sum them up"
		}
		if f.sums == nil {
			f.sums = map[string]*sum{}
		}
		s = &sum{sample: string(f.key), line: line}
		f.sums[s.sample] = s
		f.order = append(f.order, s)
	}
	s.value += v
	return ""
}

// reduce leaves the name and the kept labels of a sample, in the order in which
// they stand there.
func (f *folding) reduce(sample []byte) {
	name, labels, _ := bytes.Cut(sample, []byte("{"))
	f.key = append(append(f.key[:0], bytes.TrimSpace(name)...), '{')
	for len(labels) > 0 {
		var label []byte
		label, labels = nextLabel(labels)
		key, _, found := bytes.Cut(label, []byte("="))
		if !found || !f.keeps(bytes.TrimSpace(key)) {
			continue
		}
		f.key = append(append(f.key, bytes.TrimSpace(label)...), ',')
	}
	f.key = append(f.key, '}')
}

func (f *folding) keeps(label []byte) bool {
	for _, k := range f.Keep {
		if string(label) == k {
			return true
		}
	}
	return false
}

// nextLabel cuts the text between two braces behind the first label: at the comma
// or brace that is not in quotes.
func nextLabel(text []byte) (label, rest []byte) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			return text[:i], text[i+1:]
		case c == '}' && !quoted:
			return text[:i], nil
		}
	}
	return text, nil
}

// folded gives the fold that a sample belongs to; nil when it stays as it is.
func (p *page) folded(sample []byte) *folding {
	for i := range p.folds {
		if bytes.HasPrefix(sample, []byte(p.folds[i].Prefix)) {
			return &p.folds[i]
		}
	}
	return nil
}

// unfold puts the sums where the samples would have been.
func (p *page) unfold() {
	for i := range p.folds {
		for _, s := range p.folds[i].order {
			p.clean = append(append(p.clean, s.sample...), ' ')
			p.clean = append(strconv.AppendFloat(p.clean, s.value, 'g', -1, 64), '\n')
			p.lines = append(p.lines, s.line)
		}
	}
}
