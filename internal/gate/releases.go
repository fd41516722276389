package gate

import (
	"slices"
	"strings"
)

// releases are the days on which PyPI was given the first file of a version of an engine,
// by the version's first parts. What is not listed, or is newer, is not known here.
var releases = map[string]map[string]string{
	"vllm": {
		"0.5": "2024-06-11", "0.6": "2024-09-05", "0.7": "2025-01-27", "0.8": "2025-03-18", "0.9": "2025-05-28",
		"0.10": "2025-07-25", "0.11": "2025-10-04", "0.12": "2025-12-03", "0.13": "2025-12-19", "0.14": "2026-01-20",
		"0.15": "2026-01-29", "0.16": "2026-02-26", "0.17": "2026-03-07", "0.18": "2026-03-20", "0.19": "2026-04-03",
		"0.20": "2026-04-27", "0.21": "2026-05-15", "0.22": "2026-05-29", "0.23": "2026-06-13", "0.24": "2026-06-30",
		"0.25": "2026-07-11", "0.26": "2026-07-25", "0.27": "2026-08-10", "0.28": "2026-08-26", "0.29": "2026-09-09",
		"0.30": "2026-09-22", "0.31": "2026-10-05", "0.32": "2026-10-18", "0.33": "2026-11-02",
	},
	"sglang": {
		"0.4.0": "2024-12-03", "0.4.1": "2024-12-25", "0.4.2": "2025-01-27", "0.4.3": "2025-02-14", "0.4.4": "2025-03-13",
		"0.4.5": "2025-04-07", "0.4.6": "2025-04-27", "0.4.7": "2025-06-10", "0.4.8": "2025-06-24", "0.4.9": "2025-07-06",
		"0.4.10": "2025-07-31", "0.5.1": "2025-08-23", "0.5.2": "2025-09-11", "0.5.3": "2025-10-06", "0.5.4": "2025-10-24",
		"0.5.5": "2025-11-06", "0.5.6": "2025-12-03", "0.5.7": "2026-01-01", "0.5.8": "2026-01-23", "0.5.9": "2026-02-23",
		"0.5.10": "2026-04-05", "0.5.11": "2026-05-05", "0.5.12": "2026-05-16", "0.5.13": "2026-06-11", "0.5.14": "2026-06-26",
		"0.5.15": "2026-07-10", "0.5.16": "2026-07-25", "0.5.17": "2026-08-08", "0.5.18": "2026-08-21", "0.5.19": "2026-09-04",
		"0.5.20": "2026-09-18", "0.5.21": "2026-10-01", "0.5.22": "2026-10-16", "0.5.23": "2026-10-30",
	},
}

// releaseSlack is how long before that day a version may have run, in seconds: an image
// or a checkout of its tag comes first.
const releaseSlack = 7 * 86400

// release is the day of an engine's version, "" where it is not known: a build before the
// release has the version's number too, and says so behind it.
func release(engine, version string) string {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	parts := strings.Split(version, ".")
	for _, p := range parts {
		if !digits(strings.TrimPrefix(p, "post")) {
			return ""
		}
	}
	for n := len(parts); n > 0; n-- {
		if day, ok := releases[engine][strings.Join(parts[:n], ".")]; ok {
			return day
		}
	}
	return ""
}

func digits(s string) bool {
	return s != "" && !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < '0' || c > '9' })
}
