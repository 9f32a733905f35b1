#!/bin/sh
# Check that the machine can build the package, and say in one sentence what to install if not.
# Usage: tools/require.sh PYTHON

python=$1

# refuse WHAT DEBIAN FEDORA MACOS: say what is missing and how this system installs it.
refuse() {
    if command -v apt-get >/dev/null 2>&1; then how="run: sudo apt-get install $2"
    elif command -v dnf >/dev/null 2>&1; then how="run: sudo dnf install $3"
    elif [ "$(uname)" = Darwin ]; then how="run: $4"
    else how="install the package that is called $2 on Debian"
    fi
    echo "error: $1; $how" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 ||
    refuse "there is no command $python" python3 python3 "brew install python3"

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "error: $python is older than Python 3.11; name a newer one: make PYTHON=python3.13" >&2
    exit 1
}

"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    refuse "the venv module of Python is missing" python3-venv python3 "brew install python3"

# Python compiles with the compiler it was made with, unless told otherwise.
compiler=${CC:-$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("CC") or "cc")')}
command -v "${compiler%% *}" >/dev/null 2>&1 ||
    refuse "there is no C compiler ($compiler)" gcc gcc "xcode-select --install"

# $compiler unquoted: CC may hold options, as in CC="ccache gcc".
echo '#include <stdlib.h>' | $compiler -fsyntax-only -x c - 2>/dev/null ||
    refuse "the C compiler ($compiler) finds no C library headers" \
        libc6-dev glibc-devel "xcode-select --install"

headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$headers/Python.h" ] ||
    refuse "the header Python.h is missing from $headers" \
        python3-dev python3-devel "brew install python3"
