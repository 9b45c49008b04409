package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestParseFlags(t *testing.T) {
	at := func(addr string, backlog int) endpoint {
		return endpoint{addr: netip.MustParseAddrPort(addr), backlog: backlog}
	}
	tests := []struct {
		args string
		want []endpoint
	}{
		{"-listen 127.0.0.1:8080", []endpoint{at("127.0.0.1:8080", 128)}},
		{"-listen :8080 -backlog 4", []endpoint{at("0.0.0.0:8080", 4)}},
		{"-listen [::]:8080 -backlog 0", []endpoint{at("[::]:8080", 0)}},
		{"-listen 127.0.0.1:1/16 -listen [::1]:2 -backlog 5", []endpoint{at("127.0.0.1:1", 16), at("[::1]:2", 5)}},
		{"-listen :1 -backlog 4294967295", []endpoint{at("0.0.0.0:1", 1<<31-1)}},
	}
	for _, test := range tests {
		got, err := parseFlags(strings.Fields(test.args), io.Discard)
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
			continue
		}
		if len(got.listen) != len(test.want) {
			t.Errorf("%s: got %v, want %v", test.args, got.listen, test.want)
			continue
		}
		for i := range test.want {
			if got.listen[i] != test.want[i] {
				t.Errorf("%s: got %v, want %v", test.args, got.listen, test.want)
			}
		}
	}
}

func TestParseFlagsBehaviour(t *testing.T) {
	c, err := parseFlags(strings.Fields("-listen :1 -reuseport 4 -stuck 1 -accept-delay 20ms -accept-n 3 -hold -for 1m"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := behaviour{delay: 20 * time.Millisecond, limit: 3, hold: true}
	if c.behaviour != want || c.reuseport != 4 || c.stuck != 1 || c.life != time.Minute {
		t.Errorf("got %+v", c)
	}
	if c, _ := parseFlags(strings.Fields("-listen :1"), io.Discard); c.behaviour.limit != -1 {
		t.Errorf("by default the limit is %d, want none (-1)", c.behaviour.limit)
	}
	if c, _ := parseFlags(strings.Fields("-listen :1 -never-accept"), io.Discard); c.behaviour.limit != 0 {
		t.Errorf("with -never-accept the limit is %d, want 0", c.behaviour.limit)
	}
}

func TestParseFlagsRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "at least one -listen",
		"-listen localhost:80":           "by number",
		"-listen 127.0.0.1":              "want ADDR:PORT",
		"-listen :80/many":               "whole number after the slash",
		"-listen :80/-1":                 "whole number after the slash",
		"-listen :80 -reuseport 0":       "-reuseport takes",
		"-listen :80 -stuck 2":           "-stuck takes",
		"-listen :80 -backlog -1":        "invalid value",
		"-listen :80 and more":           "is not a flag",
		"-listen :80 -accept-delay soon": "invalid value",
	} {
		if _, err := parseFlags(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", args, err, want)
		}
	}
	var help bytes.Buffer
	if _, err := parseFlags([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-never-accept") {
		t.Errorf("-h: got %v and %q", err, help.String())
	}
}
