# Sourced by the scripts in this folder: sets $python to an interpreter with Selenium, in .venv.
python="$here/.venv/bin/python"
if ! "$python" -c 'import selenium' 2>/dev/null; then
    python3 -m venv "$here/.venv"
    "$python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
fi
