# Compares what was measured with what must be reached; ends with 1 if anything was missed. First comes a file of targets:
# bench, metric, least size, "least" or "most", bound; then tab separated figures. Each median must be on the right side
# of its bound. What the others are to be read by is only "told", with a word on what it is in place of the bound.
NR == FNR { target[++targets] = $0; next }
{
  for (i = 1; i <= targets; i++) {
    split(target[i], t, " ")
    if ($1 != t[1] || $4 != t[2] || $3 + 0 < t[3] + 0) continue
    if (t[4] == "told") {
      printf "%-7s %-10s %9d  %-25s %10.3f %-3s(%.3f to %.3f), %s\n", "", $1, $3, $4, $5, $8, $6, $7, t[5]
      continue
    }
    reached = t[4] == "least" ? $5 + 0 >= t[5] + 0 : $5 + 0 <= t[5] + 0
    missed += !reached
    printf "%-7s %-10s %9d  %-25s %10.3f %-3s(%.3f to %.3f), at %s %s\n",
      reached ? "reached" : "missed", $1, $3, $4, $5, $8, $6, $7, t[4], t[5]
  }
}
END { print missed + 0, "missed"; exit missed > 0 }
