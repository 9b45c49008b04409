package main

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// socket is one listening socket in blocking mode.
type socket struct {
	fd   int
	addr netip.AddrPort
	// stuck: nobody accepts from it.
	stuck bool
}

// openSocket binds and listens with exactly the backlog asked for; the kernel cuts it to
// the namespace's somaxconn.
func openSocket(e endpoint, reuseport bool) (_ *socket, err error) {
	family := unix.AF_INET
	var to unix.Sockaddr = &unix.SockaddrInet4{Port: int(e.addr.Port()), Addr: as4(e.addr)}
	if e.addr.Addr().Is6() && !e.addr.Addr().Is4In6() {
		family = unix.AF_INET6
		to = &unix.SockaddrInet6{Port: int(e.addr.Port()), Addr: e.addr.Addr().As16()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a socket for %s: %w", e.addr, err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	// Without it a restart in the same namespace meets its own TIME_WAIT.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return nil, fmt.Errorf("setting SO_REUSEADDR for %s: %w", e.addr, err)
	}
	if reuseport {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
			return nil, fmt.Errorf("setting SO_REUSEPORT for %s: %w", e.addr, err)
		}
	}
	if err := unix.Bind(fd, to); err != nil {
		return nil, fmt.Errorf("binding %s: %w", e.addr, err)
	}
	if err := unix.Listen(fd, e.backlog); err != nil {
		return nil, fmt.Errorf("listening on %s: %w", e.addr, err)
	}
	bound, err := boundTo(fd)
	if err != nil {
		return nil, fmt.Errorf("reading the bound address of %s: %w", e.addr, err)
	}
	return &socket{fd: fd, addr: bound}, nil
}

func as4(addr netip.AddrPort) (four [4]byte) {
	if a := addr.Addr().Unmap(); a.Is4() {
		return a.As4()
	}
	return four
}

func boundTo(fd int) (netip.AddrPort, error) {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)), nil
	}
	return netip.AddrPort{}, fmt.Errorf("unexpected kind of address %T", name)
}

// accept blocks until a connection is there. A signal (SIGCONT after SIGSTOP, the Go
// runtime's own) only starts it again.
func (s *socket) accept() (int, error) {
	for {
		fd, _, err := unix.Accept4(s.fd, unix.SOCK_CLOEXEC)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ECONNABORTED) {
			return fd, err
		}
	}
}

// wake ends a blocked accept for good: on a listening socket it returns EINVAL then.
func (s *socket) wake() { _ = unix.Shutdown(s.fd, unix.SHUT_RDWR) }

func (s *socket) close() { _ = unix.Close(s.fd) }
