#!/bin/bash
# Builds the campaign of faults (tests/campaign/README.md) and runs it for MINUTES (5): the cases that are kept,
# then the seeds from 1 on, so that a change fails and not a day. Options behind that are those of
# xxl-campaign, such as --seeds=A..B or --junit=FILE.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-5}

cmake --preset release > /dev/null
cmake --build --preset release --target xxl_program xxl_campaign
build-release/tests/campaign/xxl-campaign --seeds=1.. --minutes="$minutes" "${@:2}"
