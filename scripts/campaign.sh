#!/bin/bash
# Builds the campaign of faults (docs/campaign.md) and runs it for MINUTES (5): the cases that are kept,
# then other seeds each day. Options behind that are those of xxl-campaign, such as --junit=FILE.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-5}

cmake --preset release > /dev/null
cmake --build --preset release --target xxl_program xxl_campaign
build-release/tests/campaign/xxl-campaign --seeds="$(date +%Y%m%d)000000.." --minutes="$minutes" "${@:2}"
