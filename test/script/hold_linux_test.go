package script

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hold listens and never accepts, so that the queues stand still at known
// figures while they are looked at from several sides:
//
//	hold 127.0.0.1:8080/16/5/0 [::1]:8081/4/5/3
//
// is a backlog of 16 with 5 connections that wait, and one of 4 that holds 5
// (the kernel admits one more than the backlog) and refuses 3. An address that
// is given twice becomes two sockets that share it (SO_REUSEPORT). It prints
// "ready" and ends by itself after two minutes.
func hold() {
	conns, err := holdAll(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "hold:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	time.Sleep(2 * time.Minute)
	runtime.KeepAlive(conns) // the garbage collector closes what nobody holds
}

func holdAll(args []string) ([]net.Conn, error) {
	var conns []net.Conn
	for _, arg := range args {
		part := strings.Split(arg, "/")
		if len(part) != 4 {
			return nil, fmt.Errorf("%q is not ADDRESS/BACKLOG/WAITING/REFUSED", arg)
		}
		var n [3]int
		for i := range n {
			var err error
			if n[i], err = strconv.Atoi(part[i+1]); err != nil {
				return nil, err
			}
		}
		if err := listen(part[0], n[0]); err != nil {
			return nil, fmt.Errorf("listening at %s: %w", part[0], err)
		}
		for range n[1] {
			c, err := net.DialTimeout("tcp", part[0], 30*time.Second)
			if err != nil {
				return nil, err
			}
			conns = append(conns, c)
		}
		for range n[2] {
			// Given up well before the SYN is sent again, a second later.
			if c, err := net.DialTimeout("tcp", part[0], 300*time.Millisecond); err == nil {
				c.Close()
				return nil, fmt.Errorf("%s took one connection more than it should", part[0])
			}
		}
	}
	return conns, nil
}

// listen opens a listening socket with a backlog of one's choice, which package
// net does not offer, and leaves it open.
func listen(address string, backlog int) error {
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return err
	}
	var sa unix.Sockaddr
	family := unix.AF_INET6
	if ip := tcp.IP.To4(); ip != nil {
		family = unix.AF_INET
		sa = &unix.SockaddrInet4{Port: tcp.Port, Addr: [4]byte(ip)}
	} else {
		sa = &unix.SockaddrInet6{Port: tcp.Port, Addr: [16]byte(tcp.IP.To16())}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return err
	}
	if err := unix.Bind(fd, sa); err != nil {
		return err
	}
	return unix.Listen(fd, backlog)
}
