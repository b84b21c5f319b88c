#!/usr/bin/env bash
# Lights lanterns.
set -euo pipefail

readonly ROUTE="gate
well
mill
bridge
tower"
count=$#

usage() {
    cat <<TEXT
Usage: lantern [--help] {PLACE}

It's a here-document with an apostrophe, and with
a line that looks like an end:
    }
TEXT
}

log() { printf '%s\n' "$*" >&2; }

# Burns some oil.
burn()
{
    local hours=$1 left=${2:-100}
    left=$((left - (hours << 1)))
    case $left in
        "'") log "it's dark"; ;;
        *) log "${left#x} is left" ;;
    esac
    awk '{ print "}" }' <<<"$left"
}

function find_lantern {
    local place
    for place in $ROUTE; do
        { log "looking at $place"; true; } || return 1
        grep -q "$(printf '%s' "$place")" /etc/hosts && return 0
    done
}

if [ "$count" -eq 0 ]; then
    usage
    exit 2
fi

for place in "$@"; do
    burn 1 "$place"
done
