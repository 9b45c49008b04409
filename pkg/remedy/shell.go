package remedy

import "strings"

// quote makes one word of s for a POSIX shell. Names come from the cluster, and
// nothing in them may end the word.
func quote(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@+", r))
	})
	if plain && !strings.HasPrefix(s, "-") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// line joins words; each is quoted where it must be.
func line(words ...string) string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		if strings.HasPrefix(w, "-") && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz-=0123456789") == "" {
			out = append(out, w) // a flag
			continue
		}
		out = append(out, quote(w))
	}
	return strings.Join(out, " ")
}
