# Copies the output of a test run without the beginnings of tests, and repeats its failures at the end; of a run that
# did not end, it names the tests that had begun and not ended.
/^◇ Test (case|run) / { next }
/^◇ Test .* started\.$/ {
    name = $0
    sub(/^◇ Test /, "", name)
    sub(/ started\.$/, "", name)
    begun[name] = 1
    next
}
{ print; fflush() }
/^(✔|✘) Test / {
    name = $0
    sub(/^(✔|✘) Test /, "", name)
    sub(/ (with [0-9]+ test cases? )?(passed|failed) after .*$/, "", name)
    delete begun[name]
}
/Test run with / { hasEnded = 1 }
/ recorded an issue/ || (follows && /^[^ ]*↳/) { failures = failures $0 "\n"; follows = 1; next }
{ follows = 0 }
/✘.* Test run with / || /^error: / || /Fatal error: / || /SUMMARY: .*Sanitizer/ { failures = failures $0 "\n" }
END {
    if (!hasEnded) for (name in begun) print "not ended: " name
    if (failures != "") printf "\n== failures ==\n%s", failures
}
