# Passes a test run on as it comes and says once more at its end what failed: a run prints thousands of lines.
{ print; fflush() }
/ recorded an issue/ || (follows && /^[^ ]*↳/) { failures = failures $0 "\n"; follows = 1; next }
{ follows = 0 }
/✘.* Test run with / || /^error: / || /Fatal error: / || /SUMMARY: .*Sanitizer/ { failures = failures $0 "\n" }
END { if (failures != "") printf "\n== what failed ==\n%s", failures }
