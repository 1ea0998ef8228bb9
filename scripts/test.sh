#!/bin/sh
# Runs tests: node --test with what all kinds of them share. On a machine of two cores two files run at a time, where Node would run one.
export NODE_COMPILE_CACHE="$PWD/.cache/node"
exec node --test --test-concurrency="$(node -p 'Math.max(2, os.availableParallelism() - 1)')" "$@"
