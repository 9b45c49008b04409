package source

import (
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// owners keeps who holds the sockets, by inode: the sampler tells it when the
// listeners change, and every minute.
type owners struct {
	of map[uint64][]model.Owner
}

// take learns from a frame that tells the holders, and puts them into one that
// does not. The kernel gives the inode of a socket to no other while that lives.
func (o *owners) take(f *parse.Frame) {
	if _, told := f.Section("owners"); told {
		o.of = make(map[uint64][]model.Owner, len(f.Sockets))
		for _, s := range f.Sockets {
			if inode, ok := s.Inode.Get(); ok && len(s.Owners) > 0 {
				o.of[inode] = s.Owners
			}
		}
		return
	}
	for i := range f.Sockets {
		if inode, ok := f.Sockets[i].Inode.Get(); ok {
			f.Sockets[i].Owners = o.of[inode]
		}
	}
}
