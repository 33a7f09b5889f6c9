#!/bin/sh
# Makes the namespace of TEMPORAL_NAMESPACE once the server of TEMPORAL_ADDRESS answers. Safe to repeat.
set -eu

tries=60
until temporal operator cluster health >/dev/null 2>&1; do
  tries=$((tries - 1))
  if [ "$tries" -eq 0 ]; then
    echo "Temporal at $TEMPORAL_ADDRESS did not become healthy within 2 minutes" >&2
    exit 1
  fi
  sleep 2
done
temporal operator namespace describe >/dev/null 2>&1 || temporal operator namespace create --retention 168h
