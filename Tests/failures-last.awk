# Copies the output of a test run and repeats its failures at the end.
{ print; fflush() }
/ recorded an issue/ || (follows && /^[^ ]*↳/) { failures = failures $0 "\n"; follows = 1; next }
{ follows = 0 }
/✘.* Test run with / || /^error: / || /Fatal error: / || /SUMMARY: .*Sanitizer/ { failures = failures $0 "\n" }
END { if (failures != "") printf "\n== failures ==\n%s", failures }
