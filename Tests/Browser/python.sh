# Sourced by the scripts beside it: $python has Selenium, in .venv beside this file.
python="$here/.venv/bin/python"
if ! "$python" -c 'import selenium' 2>/dev/null; then
    python3 -m venv "$here/.venv"
    "$python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
fi
