package stats

// studentT holds the 0.975 quantile of Student's t for 1 to 30 degrees of freedom.
var studentT = [...]float64{
	12.7062047364, 4.3026527299, 3.1824463053, 2.7764451052, 2.5705818366,
	2.4469118511, 2.3646242516, 2.3060041352, 2.2621571628, 2.2281388520,
	2.2009851601, 2.1788128297, 2.1603686565, 2.1447866879, 2.1314495456,
	2.1199052992, 2.1098155778, 2.1009220402, 2.0930240544, 2.0859634473,
	2.0796138447, 2.0738730679, 2.0686576104, 2.0638985616, 2.0595385528,
	2.0555294386, 2.0518305165, 2.0484071418, 2.0452296421, 2.0422724563,
}

// beyond continues the table; the quantile is nearly straight in 1/df. 0 stands for
// infinity.
var beyond = [...]struct {
	inverse, t float64
}{
	{1.0 / 30, 2.0422724563},
	{1.0 / 40, 2.0210753903},
	{1.0 / 60, 2.0002978220},
	{1.0 / 120, 1.9799304051},
	{0, 1.9599639845},
}

// StudentT975 is the 0.975 quantile of Student's t: exact to ten digits for up to 30
// degrees of freedom and at 40, 60 and 120, and interpolated in 1/df between them to
// five digits. df must be at least 1.
func StudentT975(df int) float64 {
	if df <= len(studentT) {
		return studentT[df-1]
	}
	x := 1 / float64(df)
	for i := 1; ; i++ {
		if a, b := beyond[i-1], beyond[i]; x >= b.inverse {
			return b.t + float64((a.t-b.t)*((x-b.inverse)/(a.inverse-b.inverse)))
		}
	}
}
