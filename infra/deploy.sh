#!/bin/sh
# Makes the work pools and the named limits on the server of PREFECT_API_URL, then deploys prefect.yaml beside this file.
# Run it again after a change: it sets what differs and adds nothing twice. Needs `prefect` of promptaudit's environment;
# PREFECT names another, LIMITS other limits.
set -eu
: "${PREFECT_API_URL:?name the server to deploy to, such as http://127.0.0.1:4200/api}"
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefect=${PREFECT:-prefect}

for pool in api gpu; do
  "$prefect" --no-prompt work-pool inspect "$pool" >/dev/null 2>&1 ||
    "$prefect" --no-prompt work-pool create "$pool" --type process
done
"$prefect" work-pool set-concurrency-limit gpu 1

# one writer of a warehouse, one night at a time for each provider and each GPU
for limit in ${LIMITS:-warehouse=1 provider-openai=1 gpu-0=1}; do
  name=${limit%=*} slots=${limit#*=}
  "$prefect" gcl update "$name" --limit "$slots" >/dev/null 2>&1 || "$prefect" gcl create "$name" --limit "$slots"
done

# the worker's AUDIT_FOLDER counts: where this shell has one too, Prefect would write it into the deployment
env -u AUDIT_FOLDER "$prefect" --no-prompt deploy --all --prefect-file "$here/prefect.yaml"
