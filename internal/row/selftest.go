package row

// At is the error at the least number of streams that was tried and is not below
// streams: errors grow with load, and nothing is interpolated. Of two tries at one number
// the worse counts. ok is false where none reaches so far.
func (t *Selftest) At(streams int64) (level SelftestLevel, ok bool) {
	tried := append([]SelftestLevel{{t.Streams, t.ITLErrorNS, t.TTFTErrorNS, t.Gaps}}, t.Levels...)
	for _, l := range tried {
		if l.Streams < streams || l.Gaps == 0 {
			continue
		}
		switch {
		case !ok || l.Streams < level.Streams:
			level, ok = l, true
		case l.Streams == level.Streams:
			level.ITLErrorNS = worse(level.ITLErrorNS, l.ITLErrorNS)
			level.TTFTErrorNS = worse(level.TTFTErrorNS, l.TTFTErrorNS)
			level.Gaps = min(level.Gaps, l.Gaps)
		}
	}
	return level, ok
}

// Most is the highest number of streams that was tried.
func (t *Selftest) Most() int64 {
	most := t.Streams
	for _, l := range t.Levels {
		most = max(most, l.Streams)
	}
	return most
}

func worse(a, b ErrorDist) ErrorDist {
	return ErrorDist{max(a.P50, b.P50), max(a.P99, b.P99), max(a.Max, b.Max)}
}
