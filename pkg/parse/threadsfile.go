package parse

import "strings"

// procFile is a file of the target or of a process that descends from it, whose
// number is then pid. Without tid it is the process's own.
type procFile struct {
	pid, tid int
	path     string
	name     string
}

// file takes "17/stat:17 (proxy) S" apart.
func file(line string) (f procFile, content string, ok bool) {
	colon := strings.IndexByte(line, ':')
	if colon < 0 || colon > 64 {
		return f, "", false
	}
	f.path, content = line[:colon], line[colon+1:]
	dir, name, ok := cutLast(f.path, '/')
	f.name = name
	switch {
	case !ok:
		return f, "", false
	case dir == "..":
		return f, content, true
	case strings.HasPrefix(dir, "../../"):
		pid, tid, isThread := strings.Cut(dir[len("../../"):], "/task/")
		if f.pid, ok = id(pid); ok && isThread {
			f.tid, ok = id(tid)
		}
		return f, content, ok
	}
	f.tid, ok = id(dir)
	return f, content, ok
}

func cutLast(text string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// id is the number of a process or thread.
func id(text string) (int, bool) {
	n, ok := count(text)
	return int(n), ok && n > 0 && n < 1<<31
}

// cutRecord splits off the first line, or as many as belong together because of
// newlines in a name, which the kernel does not escape.
func cutRecord(text string) (record, rest string, lines int) {
	record, rest, _ = strings.Cut(text, "\n")
	lines = 1
	if f, _, ok := file(record); ok && f.name == "stat" {
		// A name has 15 bytes, so that it has no more than 16 lines.
		for prefix := f.path + ":"; strings.HasPrefix(rest, prefix) && lines <= maxComm+1; lines++ {
			var line string
			line, rest, _ = strings.Cut(rest, "\n")
			record += "\n" + line[len(prefix):]
		}
		return record, rest, lines
	}
	return cutBareStat(text)
}
