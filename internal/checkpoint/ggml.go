package checkpoint

// ggmlType is how llama.cpp stores tensors of one type: blocks of so many weights in so
// many bytes. The sizes are those of the block structs in ggml-common.h, as
// gguf-py/gguf/constants.py (GGML_QUANT_SIZES) states them.
type ggmlType struct {
	name   string
	block  int64  // weights
	bytes  int64  // of a block
	format string // ours that computes alike; the exact one where we have it
}

// ggmlTypes by number. Numbers that are missing were withdrawn from the format (Q4_2,
// Q4_3, the repacked Q4_0 and IQ4_NL forms), or never given.
var ggmlTypes = map[uint32]ggmlType{
	0:  {"F32", 1, 4, "fp32"},
	1:  {"F16", 1, 2, "fp16"},
	2:  {"Q4_0", 32, 18, "q4_0"},     // f16 scale, 16 bytes of nibbles
	3:  {"Q4_1", 32, 20, "q4_1"},     // f16 scale and minimum
	6:  {"Q5_0", 32, 22, "q5_k"},     // f16 scale, 4 bytes of fifth bits, nibbles
	7:  {"Q5_1", 32, 24, "q5_k"},     // and a minimum
	8:  {"Q8_0", 32, 34, "q8_0"},     // f16 scale, 32 bytes
	9:  {"Q8_1", 32, 40, "q8_0"},     // two f32
	10: {"Q2_K", 256, 84, "q4_k"},    // 16 scales, 64 bytes, f16 scale and minimum
	11: {"Q3_K", 256, 110, "q4_k"},   // 64 + 32 bytes, 12 of scales, f16
	12: {"Q4_K", 256, 144, "q4_k"},   // 128 bytes, 12 of scales, two f16
	13: {"Q5_K", 256, 176, "q5_k"},   // and 32 of fifth bits
	14: {"Q6_K", 256, 210, "q6_k"},   // 128 + 64 bytes, 16 scales, f16
	15: {"Q8_K", 256, 292, "q8_0"},   // f32, 256 bytes, 16 sums of 2 bytes
	16: {"IQ2_XXS", 256, 66, "q4_k"}, // f16, 64 bytes
	17: {"IQ2_XS", 256, 74, "q4_k"},  // and 8 of scales
	18: {"IQ3_XXS", 256, 98, "q4_k"}, // f16, 64 + 32 bytes
	19: {"IQ1_S", 256, 50, "q4_k"},   // f16, 32 + 16 bytes
	20: {"IQ4_NL", 32, 18, "q4_0"},   // f16, 16 bytes
	21: {"IQ3_S", 256, 110, "q4_k"},  // f16, 64 + 32 + 8 bytes, 4 of scales
	22: {"IQ2_S", 256, 82, "q4_k"},   // f16, 64 + 16 bytes
	23: {"IQ4_XS", 256, 136, "q4_k"}, // f16, 2 + 4 of scales, 128 bytes
	24: {"I8", 1, 1, ""},             // plain numbers: no weights
	25: {"I16", 1, 2, ""},            //
	26: {"I32", 1, 4, ""},            //
	27: {"I64", 1, 8, ""},            //
	28: {"F64", 1, 8, ""},            //
	29: {"IQ1_M", 256, 56, "q4_k"},   // 32 + 16 + 8 bytes
	30: {"BF16", 1, 2, "bf16"},       //
	34: {"TQ1_0", 256, 54, "q4_k"},   // f16, 48 + 4 bytes of base 3
	35: {"TQ2_0", 256, 66, "q4_k"},   // f16, 64 bytes
	39: {"MXFP4", 32, 17, "mxfp4"},   // 1 byte of exponent, 16 of nibbles
	40: {"NVFP4", 64, 36, "nvfp4"},   // 4 scales of 1 byte, 32 of nibbles
	41: {"Q1_0", 128, 18, "q4_k"},    // f16, 16 bytes
	42: {"Q2_0", 64, 18, "q4_k"},     // f16, 16 bytes
}
