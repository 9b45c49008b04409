package cmd

import (
	"context"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/remedy"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// judged is a source whose snapshots carry verdicts, and commands for what helps.
type judged struct {
	source.Source
	ledger *diagnose.Ledger
	remedy remedy.Options
}

// judge puts the judge behind a source.
func (s *selection) judge(src source.Source) *judged {
	return &judged{Source: src, ledger: diagnose.NewLedger(diagnose.Options{}), remedy: s.remedyOptions()}
}

// remedyOptions are what printed commands name: the context of now, since the
// current one may be another by the time that a line is pasted.
func (s *selection) remedyOptions() remedy.Options {
	if s.local {
		return remedy.Options{}
	}
	o := remedy.Options{Context: s.context}
	if c := s.flags.KubeConfig; c != nil {
		o.Kubeconfig = *c
	}
	return o
}

// Next judges the pods of the next snapshot.
func (j *judged) Next(ctx context.Context) (model.Snapshot, error) {
	s, err := j.Source.Next(ctx)
	if err != nil {
		return s, err
	}
	j.fill(&s)
	return s, nil
}

// fill judges a snapshot.
func (j *judged) fill(s *model.Snapshot) {
	s.Pods = slices.Clone(s.Pods)
	j.ledger.Judge(s)
	for i := range s.Pods {
		remedy.Fill(&s.Pods[i], j.remedy)
	}
}
