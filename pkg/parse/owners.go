package parse

import "github.com/kubectl-backlog/kubectl-backlog/pkg/model"

// joinOwners gives the sockets the holders that a second, slightly later list
// tells. A socket is known by its inode. Without inodes it is known by its
// address, and among SO_REUSEPORT siblings by its place, which ss keeps; but
// only while both lists hold the same number of them.
func joinOwners(sockets, withOwners []model.Socket) {
	byInode := make(map[uint64][]model.Owner, len(withOwners))
	for _, s := range withOwners {
		if inode, ok := s.Inode.Get(); ok {
			byInode[inode] = s.Owners
		}
	}
	for i := range sockets {
		s := &sockets[i]
		if inode, ok := s.Inode.Get(); ok && len(byInode) > 0 {
			s.Owners = byInode[inode]
			continue
		}
		place, siblings := 0, 0
		for j := range sockets {
			if sameAddress(&sockets[j], s) {
				siblings++
				if j < i {
					place++
				}
			}
		}
		for j := range withOwners {
			if !sameAddress(&withOwners[j], s) {
				continue
			}
			if place == 0 {
				s.Owners = withOwners[j].Owners
			}
			place--
			siblings--
		}
		if siblings != 0 {
			s.Owners = nil
		}
	}
}

func sameAddress(a, b *model.Socket) bool {
	return a.Port == b.Port && a.Address == b.Address && a.Interface == b.Interface
}
