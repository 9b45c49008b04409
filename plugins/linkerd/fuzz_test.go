package linkerd

import (
	"testing"
	"unicode/utf8"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// FuzzKnobs feeds annotations and variables as a user may write them. Whatever
// they hold, every knob either knows what is asked or says why not, never asks
// for an impossible number of workers, and repeats no more than a bounded text.
func FuzzKnobs(f *testing.F) {
	f.Add("1500m", "100m", "0.5", `[{"name":"LINKERD2_PROXY_CORES_MAX","value":"3"}]`, "2", "1", "0.35", "1024", "1", int64(4))
	f.Add("", "-1", "1.0", `[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","valueFrom":{}}]`, "0", "+2", "NaN", "4k", "$(A)", int64(0))
	f.Add("1e99999", "9223372036854775808", "1e-400", `[{"name":"A"}`, "18446744073709551615", "", "0x1p-1", "4294967296", "1Ei", int64(1)<<62)
	f.Fuzz(func(t *testing.T, limitText, requestText, ratioText, list, maxText, minText, shareText, backlogText, coresText string, node int64) {
		p := pod(
			pairs{limit, limitText, request, requestText, ratioAnn, ratioText, additional, list, "linkerd.io/proxy-version", limitText},
			pairs{most, maxText, least, minText, share, shareText, cores, coresText, inbound, backlogText, "LINKERD2_PROXY_INBOUND_LISTEN_ADDR", list},
		)
		live := running(ratioText, 2)
		// What the pod was made from says the same words in other places.
		changed := made{
			template:  pairs{limit, requestText, additional, maxText, ratioAnn, shareText},
			namespace: pairs{request, limitText, additional, list, ratioAnn, ratioText},
			outdated:  []string{"", "yes", "no"}[len(list)%3], strategy: coresText, paused: len(maxText)%2 > 0, kind: []string{"", "StatefulSet", "CronJob", minText}[len(minText)%4],
		}.put(running(ratioText, 2))
		for i, nodeCPUs := range []model.Value[int64]{model.Known(node), model.Unknown[int64]("not asked"), model.Known(node)} {
			if i == 2 {
				live = changed
			}
			for _, k := range New().Knobs(p, nodeCPUs, live) {
				if k.Remedy.Restart && (!k.Differs() || k.Why == "") {
					t.Errorf("%s: a restart for nothing: asked %+v, in force %+v, why %q", k.Name, k.Asked, k.InForce, k.Why)
				}
				n, ok := k.Asked.Get()
				switch {
				case !ok && k.Asked.Reason() == "":
					t.Errorf("%s: unknown without a reason", k.Name)
				case ok && n < 0, ok && n < 1 && k.Name == "workers":
					t.Errorf("%s: asked %d", k.Name, n)
				case ok && nodeCPUs.IsKnown() && node >= 1 && k.Name == "workers" && n > node:
					t.Errorf("%d workers asked of %d CPUs", n, node)
				}
				if len(k.Chain) == 0 {
					t.Errorf("%s: no chain", k.Name)
				}
				for _, o := range k.Chain {
					if utf8.RuneCountInString(o.Value) > shown+1 || len(o.Note) > 1000 {
						t.Errorf("%s: %s repeats %d bytes of value, %d of note", k.Name, o.Name, len(o.Value), len(o.Note))
					}
				}
				if len(k.Why) > 10_000 {
					t.Errorf("%s: why has %d bytes", k.Name, len(k.Why))
				}
			}
		}
		if roles := New().Roles(p); len(roles) < 3 && list == "" {
			t.Errorf("roles %v", roles)
		}
	})
}
