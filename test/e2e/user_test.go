package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// right is a verb on a resource, as a Role has it: "get pods/log".
type right string

// leastRights are what README promises to be enough for pods and selectors.
var leastRights = []right{
	"get pods", "list pods", "watch pods", "get pods/log", "patch pods/ephemeralcontainers",
	"get pods/portforward", "create pods/portforward",
}

// without are the least rights but these.
func without(taken ...right) []right {
	return slices.DeleteFunc(slices.Clone(leastRights), func(r right) bool { return slices.Contains(taken, r) })
}

// rules make a Role of rights; a resource may have its API group behind a dot.
func rules(rights []right) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, r := range rights {
		verb, resource, _ := strings.Cut(string(r), " ")
		resource, group, _ := strings.Cut(resource, ".")
		all = append(all, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}})
	}
	return all
}

// user is a service account of the namespace with these rights and no others.
// The env it gives runs the program as this user.
func (e *env) user(t *testing.T, name string, rights ...right) *env {
	t.Helper()
	accounts := cluster.client.CoreV1().ServiceAccounts(e.ns)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("creating the account %s: %v", name, err)
	}
	e.grant(t, name, name, rules(rights))
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("making a token for %s: %v", name, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{
		Server: cluster.config.Host, CertificateAuthority: cluster.config.CAFile, CertificateAuthorityData: cluster.config.CAData,
		TLSServerName: cluster.config.ServerName, InsecureSkipTLSVerify: cluster.config.Insecure,
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: name}
	config.CurrentContext = "test"
	path := filepath.Join(t.TempDir(), name)
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return &env{T: t, ns: e.ns, kubeconfig: path}
}

// grant gives an account of the namespace more rights.
func (e *env) grant(t *testing.T, account, role string, rules []rbacv1.PolicyRule) {
	t.Helper()
	_, err := cluster.client.RbacV1().Roles(e.ns).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: rules,
	}, metav1.CreateOptions{})
	if err == nil {
		_, err = cluster.client.RbacV1().RoleBindings(e.ns).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.ns, Name: account}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatalf("granting %s to %s: %v", role, account, err)
	}
}

// printedRole is the Role at the end of what was printed; nil when there is
// none. It must be one that kubectl apply takes.
func printedRole(t *testing.T, stderr string) *rbacv1.Role {
	t.Helper()
	at := strings.Index(stderr, "apiVersion: rbac.authorization.k8s.io/v1")
	if at < 0 {
		return nil
	}
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(stderr[at:]), &role); err != nil || role.Kind != "Role" {
		t.Fatalf("reading the Role that was printed (kind %q): %v\n%s", role.Kind, err, stderr)
	}
	return &role
}

// grants says whether rules hold a right.
func grants(rules []rbacv1.PolicyRule, r right) bool {
	verb, resource, _ := strings.Cut(string(r), " ")
	resource, group, _ := strings.Cut(resource, ".")
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, verb) && slices.Contains(rule.Resources, resource) && slices.Contains(rule.APIGroups, group)
	})
}

// roleRules are a Role's; none of no Role.
func roleRules(role *rbacv1.Role) []rbacv1.PolicyRule {
	if role == nil {
		return nil
	}
	return role.Rules
}
