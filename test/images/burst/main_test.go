package main

import (
	"io"
	"strings"
	"testing"
)

// The one promise that matters most: load stays on this machine.
func TestOnlyLoopbackIsTaken(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:80", "127.9.9.9:4143", "[::1]:80", "[::ffff:127.0.0.1]:80"} {
		if _, err := loopback(addr); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for addr, want := range map[string]string{
		"198.18.0.5:80":           "not a loopback address",
		"0.0.0.0:80":              "not a loopback address",
		"[::]:80":                 "not a loopback address",
		"[2001:db8::1]:80":        "not a loopback address",
		"[::ffff:198.18.0.5]:80":  "not a loopback address",
		"localhost:80":            "by number",
		"127.0.0.1.example.com:1": "by number",
		"127.0.0.1":               "by number",
		"":                        "by number",
	} {
		if _, err := loopback(addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", addr, err, want)
		}
		if err := run(t.Context(), []string{"-addr", addr}, io.Discard, io.Discard); err == nil {
			t.Errorf("%q: run took it", addr)
		}
	}
}

func TestLoadIsBounded(t *testing.T) {
	for args, want := range map[string]string{
		"-n 0":          "-n takes",
		"-n 10001":      "-n takes",
		"-fill 10001":   "-fill takes",
		"-fill -1":      "-fill takes",
		"-every 1us":    "-every takes",
		"-for 11m":      "-for and -hold take",
		"-hold 1h":      "-for and -hold take",
		"-timeout 0s":   "-timeout takes",
		"-timeout 2m":   "-timeout takes",
		"stray":         "is not a flag",
		"-n plenty":     "invalid value",
		"-connect-only": "", // allowed
	} {
		_, err := parseFlags(strings.Fields("-addr 127.0.0.1:1 "+args), io.Discard)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", args, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", args, err, want)
		}
	}
}
