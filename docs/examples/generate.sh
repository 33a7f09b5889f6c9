#!/bin/sh
# Creates a video with curl, waits for it, and keeps the file:
#   DARKROOM_URL=http://127.0.0.1:8080 DARKROOM_KEY=dk_… sh generate.sh "A lighthouse in a storm" video.mp4
set -eu
prompt=${1:-A lighthouse in a storm}
file=${2:-video.mp4}
# One key for this intent: a repeated request gets the stored answer and makes nothing twice.
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

id=$(curl -fsS --retry 5 --retry-all-errors "$DARKROOM_URL/v1/generations" \
  -H "Authorization: Bearer $DARKROOM_KEY" -H "Idempotency-Key: $key" -H 'Content-Type: application/json' \
  -d "{\"model\":\"infro-video\",\"input\":{\"prompt\":\"$prompt\"}}" | sed 's/.*"id":"\(gen_[^"]*\)".*/\1/')
echo "$id"

while :; do
  answer=$(curl -fsS --retry 5 "$DARKROOM_URL/v1/generations/$id" -H "Authorization: Bearer $DARKROOM_KEY" -H 'Prefer: wait=30')
  state=$(printf '%s' "$answer" | sed 's/.*"state":"\([a-z]*\)".*/\1/')
  echo "$state"
  case $state in
    queued | running) ;;
    succeeded) break ;;
    *) printf '%s\n' "$answer" >&2; exit 1 ;;
  esac
done

# -L follows to the signed link of the file.
curl -fsSL "$DARKROOM_URL/v1/generations/$id/outputs/0" -H "Authorization: Bearer $DARKROOM_KEY" -o "$file"
echo "$file"
