#!/bin/sh
# The hook of a self-hosted GitHub runner that runs before each job: on a host that cannot run it
# the job fails at once, with the reason, instead of hanging in its first collective.
#
#   .env of the runner:  ACTIONS_RUNNER_HOOK_JOB_STARTED=/opt/unhang/job-started.sh
#
# UNHANG is the program; CHECKPOINTS may name a folder to look at.
UNHANG=${UNHANG:-unhang}
said=$("$UNHANG" check --alone --nagios --no-measure ${CHECKPOINTS:+--checkpoint "$CHECKPOINTS"} 2>&1)
case $? in
1) echo "::warning title=unhang check::$said" ;;
2)
    echo "::error title=unhang check::$said"
    exit 1
    ;;
*) echo "$said" ;; # well, or unknown: a check that cannot look must not take hosts away
esac
