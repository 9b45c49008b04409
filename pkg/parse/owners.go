package parse

import "github.com/kubectl-backlog/kubectl-backlog/pkg/model"

// place is what a socket is known by where there are no inodes.
type place struct {
	address, iface string
	port           uint16
}

func placeOf(s *model.Socket) place { return place{s.Address, s.Interface, s.Port} }

// joinOwners gives the sockets the holders that a second, slightly later list
// tells. A socket is known by its inode. Without inodes it is known by its
// address, and among SO_REUSEPORT siblings by its position, which ss keeps; but
// only while both lists hold the same number of them.
func joinOwners(sockets, withOwners []model.Socket) {
	byInode := make(map[uint64]*model.Socket, len(withOwners))
	byPlace := make(map[place][]*model.Socket, len(withOwners))
	for i := range withOwners {
		s := &withOwners[i]
		if inode, ok := s.Inode.Get(); ok {
			byInode[inode] = s
		}
		byPlace[placeOf(s)] = append(byPlace[placeOf(s)], s)
	}
	siblings := make(map[place]int, len(sockets))
	for i := range sockets {
		siblings[placeOf(&sockets[i])]++
	}
	position := make(map[place]int, len(sockets))
	for i := range sockets {
		s := &sockets[i]
		at := placeOf(s)
		n := position[at]
		position[at]++
		if inode, ok := s.Inode.Get(); ok && len(byInode) > 0 {
			if found := byInode[inode]; found != nil {
				s.Owners = found.Owners
			}
			continue
		}
		if found := byPlace[at]; len(found) == siblings[at] {
			s.Owners = found[n].Owners
		}
	}
}
