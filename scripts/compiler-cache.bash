# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that compile, in the root of the checkout: what one of them has compiled, none compiles again,
# whichever folder or preset it was for. Without ccache everything is compiled each time, and nothing else changes.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  export CCACHE_DEPEND=1 # what a source includes is what the compiler says: no second look by the preprocessor
fi
