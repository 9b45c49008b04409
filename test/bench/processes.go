package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of CPU time in /proc, fixed for user space.
const ticksPerSecond = 100

// samplers are the processes of the probes of a pod on this machine.
func samplers(uid string) ([]int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		// A subshell of the sampler has the same command line.
		if err != nil || !isSampler(pid) || isSampler(parent(pid)) {
			continue
		}
		cgroup, err := os.ReadFile(filepath.Join(dir, "cgroup"))
		// systemd's names have underscores where the UID has hyphens.
		if err == nil && strings.Contains(strings.ReplaceAll(string(cgroup), "_", "-"), uid) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func isSampler(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.HasSuffix(bytes.TrimRight(line, "\x00"), []byte("\x00backlog-probe"))
}

// stat gives the fields of /proc/PID/stat behind the name, the state first.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 20 {
		return nil, fmt.Errorf("process %d: %d fields in stat", pid, len(f))
	}
	return f, nil
}

func parent(pid int) int {
	f, err := stat(pid)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(f[1])
	return n
}

// cpuSeconds is the CPU time of a process and of its children that have ended.
func cpuSeconds(pid int) (float64, error) {
	f, err := stat(pid)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, field := range f[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, fmt.Errorf("process %d: CPU time %q", pid, field)
		}
		sum += n
	}
	return sum / ticksPerSecond, nil
}

// residentMiB is the highest resident memory of a process (VmHWM) in MiB.
func residentMiB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d: no VmHWM", pid)
}

// cgroupMiB is the memory that the process's container is charged with, without
// file pages that can be dropped, in MiB: what a limit would be held against.
func cgroupMiB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.SplitN(line, ":", 3)
		var dir, usage, inactive string
		switch {
		case len(f) == 3 && f[1] == "memory":
			dir, usage, inactive = "/sys/fs/cgroup/memory"+f[2], "memory.usage_in_bytes", "total_inactive_file"
		case len(f) == 3 && f[0] == "0" && f[1] == "":
			dir, usage, inactive = "/sys/fs/cgroup"+f[2], "memory.current", "inactive_file"
		default:
			continue
		}
		used, err := os.ReadFile(filepath.Join(dir, usage))
		if err != nil {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(string(used)), 64)
		if err != nil {
			return 0, err
		}
		stats, _ := os.ReadFile(filepath.Join(dir, "memory.stat"))
		for _, l := range strings.Split(string(stats), "\n") {
			if rest, ok := strings.CutPrefix(l, inactive+" "); ok {
				drop, _ := strconv.ParseFloat(rest, 64)
				n -= drop
			}
		}
		return n / (1 << 20), nil
	}
	return 0, fmt.Errorf("process %d: no memory cgroup can be read", pid)
}
