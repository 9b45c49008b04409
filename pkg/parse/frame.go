package parse

import (
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Frame is one sample of a pod, as the probe's sampler prints it to its log.
// Version 1 of the format:
//
//	==backlog-frame/1 begin seq=17 uptime=83421.07==
//	==backlog-section ss==
//	0      128          0.0.0.0:4143  0.0.0.0:* ino:1 sk:1 <-> skmem:(…,d0)
//	==backlog-section nstat==
//	#kernel
//	TcpExtListenOverflows           24                 0.0
//	==backlog-frame/1 end seq=17==
//
// uptime is the first figure of /proc/uptime, empty when it could not be read. A
// mark is a whole line and nothing else, so the text before it must end in a
// newline; a section mark may carry one argument
// (==backlog-section waiting 4143==). Every mark is longer than the 15 bytes of
// a process name, the only foreign text in a section that can hold a newline,
// so no process can forge one.
//
// Sections, each but note at most once and none of them required:
//
//	ss        ss -HOtnme state listening, or -HOltnme; printed only when ss could
//	          be run. Empty is "no listener"
//	tcp tcp6  /proc/net/tcp and tcp6 where there is no ss; what comes after the
//	          first row that is not 0A may be left out
//	nstat     nstat -asz NAMES, or with -j
//	netstat   /proc/net/netstat where there is no nstat, and
//	snmp      /proc/net/snmp beside it, for PassiveOpens
//	somaxconn /proc/sys/net/core/somaxconn
//	owners    the same with -p, when the listeners changed and once a minute
//	waiting   who waits in the queues of the port behind the word, see WaitingRows;
//	          every few seconds while they are not empty
//	threads   files of the target and its threads, see Process; every few frames.
//	          The word behind is the container's name
//	note      words of the sampler, one to a line: "ss: not found"
//
// Any other section is kept as text.
type Frame struct {
	Seq uint64
	// Uptime is the clock of the frame in seconds: rates come from its
	// differences, never from when a frame arrived.
	Uptime model.Value[float64]
	// Sockets are all listening TCP sockets of the namespace. SocketsRead is
	// false when no section told of them; a warning then says why.
	Sockets     []model.Socket
	SocketsRead bool
	// Counters of the namespace; one that no section told is unknown.
	Counters model.Counters
	// Waiting is who waits, of the ports that were asked in this frame.
	Waiting []Waiting
	// Process is what the target did; nil when this frame does not tell.
	Process *model.ProcessReading
	// Notes are the sampler's own words.
	Notes []string
	// Sections are all sections as they came, in their order.
	Sections []Section
	// Warnings tell of malformed lines, each a *LineError. Line numbers are
	// within the section that is named, or within the frame.
	Warnings []error
}

// Section is one part of a frame.
type Section struct {
	Name string
	// Arg is the word behind the name, if any: the port of "waiting 4143".
	Arg  string
	Text string
}

const (
	maxNotes    = 32
	maxNoteText = 200
	// maxWarnings bounds the warnings of one frame over all sections.
	maxWarnings = 128
)

// Section gives the first section of that name.
func (f *Frame) Section(name string) (Section, bool) {
	for _, s := range f.Sections {
		if s.Name == name {
			return s, true
		}
	}
	return Section{}, false
}

// read turns the sections into values.
func (f *Frame) read() {
	f.readNotes()
	f.readSockets()
	f.readCounters()
	f.readWaiting()
	if s, ok := f.Section("threads"); ok {
		p, errs := Process(s.Text)
		if p.Container = s.Arg; !p.Uptime.IsKnown() {
			p.Uptime = f.Uptime
		}
		f.Process = &p
		f.warn(errs...)
	}
	f.warnTwice()
}

func (f *Frame) warn(errs ...error) {
	if room := maxWarnings - len(f.Warnings); len(errs) > room {
		errs = errs[:max(room, 0)]
	}
	f.Warnings = append(f.Warnings, errs...)
}

// warnTwice tells of a section that came twice: the first one was read.
func (f *Frame) warnTwice() {
	for i, s := range f.Sections {
		for _, before := range f.Sections[:i] {
			if s.Name == before.Name && s.Arg == before.Arg && s.Name != "note" {
				f.warn(&LineError{What: "frame", Text: shorten(s.Name, maxErrorText), Msg: "section occurs twice, the first one is used"})
				break
			}
		}
	}
}

func (f *Frame) readNotes() {
	for _, s := range f.Sections {
		for text := s.Text; s.Name == "note" && text != "" && len(f.Notes) < maxNotes; {
			var line string
			if line, text = cutLine(text); strings.TrimSpace(line) != "" {
				f.Notes = append(f.Notes, shorten(valid(line), maxNoteText))
			}
		}
	}
}

func (f *Frame) readSockets() {
	if s, ok := f.Section("ss"); ok {
		sockets, errs := ListenSockets(s.Text)
		f.warn(errs...)
		// Words of an error where rows should be do not tell that nothing listens.
		if len(sockets) > 0 || len(errs) == 0 {
			f.Sockets, f.SocketsRead = sockets, true
		}
	}
	if len(f.Sockets) == 0 {
		for _, name := range []string{"tcp", "tcp6"} {
			s, ok := f.Section(name)
			if !ok {
				continue
			}
			sockets, errs := procTCP("/proc/net/"+name, s.Text)
			f.warn(errs...)
			if len(sockets) > 0 || len(errs) == 0 && s.Text != "" {
				f.Sockets, f.SocketsRead = append(f.Sockets, sockets...), true
			}
		}
	}
	if !f.SocketsRead {
		msg := "no section told of the sockets"
		if len(f.Notes) > 0 {
			msg += "; the sampler says"
		}
		f.warn(&LineError{What: "frame", Text: shorten(strings.Join(f.Notes, "; "), maxErrorText), Msg: msg})
	}
	if s, ok := f.Section("owners"); ok {
		withOwners, errs := ListenSockets(s.Text)
		f.warn(errs...)
		joinOwners(f.Sockets, withOwners)
	}
}

// readCounters takes from nstat what it tells and the rest from /proc/net.
func (f *Frame) readCounters() {
	values := make(map[string]int64)
	var from []string
	take := func(name string, read func(string) (map[string]int64, []error)) {
		s, ok := f.Section(name)
		if !ok {
			return
		}
		from = append(from, name)
		found, errs := read(s.Text)
		f.warn(errs...)
		for k, v := range found {
			if _, known := values[k]; !known {
				values[k] = v
			}
		}
	}
	take("nstat", Nstat)
	take("netstat", func(text string) (map[string]int64, []error) { return usedNetstat("netstat", text) })
	take("snmp", func(text string) (map[string]int64, []error) { return usedNetstat("snmp", text) })
	reason := "the frame has none of the sections nstat, netstat, snmp"
	if len(from) > 0 {
		reason = "not told by the frame's section " + strings.Join(from, ", ")
	}
	f.Counters = CountersFrom(values, reason)
	f.Counters.Somaxconn = model.Unknown[int64]("the frame has no section somaxconn")
	if s, ok := f.Section("somaxconn"); ok && strings.TrimSpace(s.Text) == "" {
		f.Counters.Somaxconn = model.Unknown[int64]("the sampler could not read net.core.somaxconn")
	} else if ok {
		if n, ok := count(strings.TrimSpace(s.Text)); ok {
			f.Counters.Somaxconn = model.Known(n)
			return
		}
		f.Counters.Somaxconn = model.Unknown[int64]("the frame's section somaxconn holds no number")
		f.warn(&LineError{What: "somaxconn", Line: 1, Text: shorten(s.Text, maxErrorText), Msg: "not a number"})
	}
}

// usedNetstat is ProcNetstat for the counters that a frame holds: the file has
// two hundred others.
func usedNetstat(file, text string) (map[string]int64, []error) {
	values := make(map[string]int64, 7)
	wanted := CounterNames()
	errs := scanNetstat("/proc/net/"+file, text, func(prefix, name string, v int64) {
		for _, w := range wanted {
			if len(w) == len(prefix)+len(name) && w[:len(prefix)] == prefix && w[len(prefix):] == name {
				values[w] = v
			}
		}
	})
	return values, errs
}
