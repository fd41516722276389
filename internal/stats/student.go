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

// StudentT975 is the 0.975 quantile of Student's t: exact to ten digits for up to 30
// degrees of freedom, and to seven beyond, where Cornish and Fisher's expansion about the
// normal quantile has converged. df must be at least 1.
func StudentT975(df int) float64 {
	if df <= len(studentT) {
		return studentT[df-1]
	}
	// The terms over df to df⁴: (z³+z)/4, (5z⁵+16z³+3z)/96, (3z⁷+19z⁵+17z³−15z)/384 and
	// (79z⁹+776z⁷+1482z⁵−1920z³−945z)/92160.
	const z = 1.959963984540054
	x := 1 / float64(df)
	sum := 0.0
	for _, term := range [...]float64{1.5895340533938225, 2.555849679507722, 2.8224986157396112, 2.372271230298562} {
		sum = float64((sum + term) * x)
	}
	return z + sum
}
