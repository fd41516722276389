package row

import "strings"

// ArgumentsOf reads an engine's settings from its command line: --flag value,
// --flag=value, and a flag alone as "true". Names lose their leading dashes, and _ in
// them is -. Several values of one flag are joined by a space; a flag given twice
// counts as given last. The model that `vllm serve MODEL` takes without a flag is
// under "model".
func ArgumentsOf(argv []string) map[string]string {
	out := map[string]string{}
	args := afterInterpreter(argv)
	flag := ""
	var positional []string
	for _, a := range args {
		if isFlag(a) {
			name, value, assigned := strings.Cut(strings.TrimLeft(a, "-"), "=")
			name = strings.ReplaceAll(name, "_", "-")
			out[name] = "true"
			flag = name
			if assigned {
				out[name] = value
				flag = ""
			}
			continue
		}
		switch {
		case flag == "":
			positional = append(positional, a)
		case out[flag] == "true":
			out[flag] = a
		default:
			out[flag] += " " + a
		}
	}
	if len(positional) > 1 && positional[0] == "serve" && out["model"] == "" {
		out["model"] = positional[1]
	}
	return out
}

// isFlag tells a flag from a value: a negative number is a value.
func isFlag(a string) bool {
	return len(a) > 1 && a[0] == '-' && !(a[1] >= '0' && a[1] <= '9') && a[1] != '.'
}

// afterInterpreter drops the program, and of a Python program its interpreter's own
// options and the script or module too.
func afterInterpreter(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	rest := argv[1:]
	if !strings.HasPrefix(argv[0][strings.LastIndexByte(argv[0], '/')+1:], "python") {
		return rest
	}
	for len(rest) > 0 {
		switch a := rest[0]; {
		case a == "-m" || a == "-c":
			return rest[min(2, len(rest)):]
		case a == "-X" || a == "-W":
			rest = rest[min(2, len(rest)):]
		case strings.HasPrefix(a, "-"):
			rest = rest[1:]
		default:
			return rest[1:]
		}
	}
	return nil
}
