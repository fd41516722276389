package main

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"strconv"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// mostSamples is how large a row's samples file may grow, in bytes as stored.
const mostSamples = 4 << 20

// thin bounds the samples of a long row: where they pass limit bytes as stored, only a
// subset of the requests, drawn by the row's seed, keeps its gaps; the others keep
// their first and last content and their counts. It returns the note that says so, or
// "". Figures are computed afterwards, from what was kept.
func thin(samples []row.Sample, seed uint64, limit int) (string, error) {
	packed, err := rowfile.EncodeSamples(samples)
	if err != nil || len(packed) <= limit {
		return "", err
	}
	var order []int
	for i := range samples {
		// What an index or a missing stamp would be lost with stays whole.
		if s := &samples[i]; s.OK() && len(s.T) > 1 && s.Answer == nil && !slices.Contains(s.T, row.NoStamp) {
			order = append(order, i)
		}
	}
	r := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(strconv.FormatUint(seed, 10) + "/kept"))))
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	dropped := 0
	for len(packed) > limit && dropped < len(order) {
		// Most of a file is gaps: as large a share of them goes as is too much.
		more := len(order) * (len(packed) - limit) / len(packed)
		for range min(len(order)-dropped, max(1, more)) {
			withoutGaps(&samples[order[dropped]])
			dropped++
		}
		if packed, err = rowfile.EncodeSamples(samples); err != nil {
			return "", err
		}
	}
	return row.KeptNote(len(samples)-dropped, len(samples)), nil
}

// withoutGaps puts first, last and counts in place of a request's gaps.
func withoutGaps(s *row.Sample) {
	first, last := s.T[0], int64(0)
	for _, d := range s.T {
		last += d
	}
	chunks, tokens := s.ContentChunks(), s.ChunkTokens()
	s.First, s.Last, s.Chunks, s.Tokens = &first, &last, &chunks, &tokens
	s.T, s.N = nil, nil
}
