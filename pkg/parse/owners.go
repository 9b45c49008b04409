package parse

import "github.com/kubectl-backlog/kubectl-backlog/pkg/model"

// joinOwners gives the sockets the holders that a second, slightly later list
// tells. A socket is known by its inode. Without inodes it is known by its
// address, and among SO_REUSEPORT siblings by its position, which ss keeps; but
// only while both lists hold the same number of them.
func joinOwners(sockets, withOwners []model.Socket) {
	byInode := make(map[uint64]*model.Socket, len(withOwners))
	byPlace := make(map[model.Place][]*model.Socket, len(withOwners))
	for i := range withOwners {
		s := &withOwners[i]
		if inode, ok := s.Inode.Get(); ok {
			byInode[inode] = s
		}
		byPlace[s.Place()] = append(byPlace[s.Place()], s)
	}
	siblings := make(map[model.Place]int, len(sockets))
	for i := range sockets {
		siblings[sockets[i].Place()]++
	}
	position := make(map[model.Place]int, len(sockets))
	for i := range sockets {
		s := &sockets[i]
		at := s.Place()
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
