package render

import (
	"rowproof/internal/render/halves"
	"rowproof/internal/roofline"
)

// packed is a packed query or answer as pages hold it: null stands for NaN.
type packed = halves.Values

// recompute is what a page publishes of one ceiling so that the reader's browser can
// compute it again: it stands as JSON in <script type="application/json"
// id="ceiling-query">, beside a line with id recomputed.
type recompute struct {
	Query  packed   `json:"query"`
	Answer packed   `json:"answer"`
	Names  []string `json:"names"` // of the answer's slots
}

func newRecompute(query []float64) recompute {
	return recompute{query, roofline.CeilingPacked(query), answerNames[:]}
}

// answerNames says what each slot of a packed answer is, for a reader.
var answerNames = [roofline.OutSlots]string{
	roofline.OutReadBytesPerStep:         "bytes read in a step",
	roofline.OutWeightBytesRead:          "weight bytes read in a step, routed experts apart",
	roofline.OutExpertBytesRead:          "expert bytes read in a step, hard",
	roofline.OutExpertBytesExpected:      "expert bytes read in a step, expected",
	roofline.OutStateBytesRead:           "state bytes read and written in a step",
	roofline.OutDistinctExpected:         "distinct experts of a layer, expected",
	roofline.OutMatrixFLOPs:              "matrix FLOPs of a step, routed experts and head apart",
	roofline.OutExpertFLOPs:              "expert FLOPs of a step",
	roofline.OutHeadFLOPs:                "head FLOPs of a step",
	roofline.OutAttentionFLOPs:           "attention FLOPs of a step",
	roofline.OutStateFLOPs:               "state FLOPs of a step",
	roofline.OutDecodeStepOpWiseMS:       "decode step, op-wise, ms",
	roofline.OutTokensPerStep:            "tokens a step",
	roofline.OutPrefillFLOPs:             "FLOPs of a prompt",
	roofline.OutServingTokPerSecExpected: "serving, expected, output tok/s",
	roofline.OutServingTPOTMS:            "serving, TPOT, ms",
	roofline.OutKVBytesPerToken:          "KV bytes that a token adds",
	roofline.OutResidentBytes:            "weight bytes, all devices together",
	roofline.OutKVBytesRead:              "KV bytes read in a step",
	roofline.OutMemoryMS:                 "memory time, ms",
	roofline.OutComputeMS:                "compute time, ms",
	roofline.OutCommunicationMS:          "communication time, ms",
	roofline.OutDecodeStepHardMS:         "decode step, hard, ms",
	roofline.OutDecodeStepExpectedMS:     "decode step, expected, ms",
	roofline.OutDecodeStepSerialMS:       "decode step, serial, ms",
	roofline.OutDecodeTokPerSecHard:      "decode, hard, tok/s",
	roofline.OutDecodeTokPerSecExpected:  "decode, expected, tok/s",
	roofline.OutPrefillHardMS:            "prefill, hard, ms",
	roofline.OutPrefillExpectedMS:        "prefill, expected, ms",
	roofline.OutBinding:                  "binding roof",
	roofline.OutPrefillBinding:           "binding roof of prefill",
	roofline.OutFits:                     "fits",
	roofline.OutMaxConcurrency:           "most sequences that fit",
	roofline.OutServingTokPerSec:         "serving, output tok/s",
	roofline.OutServingTokPerSecPerGPU:   "serving, output tok/s/GPU",
}
