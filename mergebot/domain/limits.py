"""Every bound in one place, its unit in its name and its reason beside it."""

PR_CHARS_MAX = 60_000
"""A notice's length: GitHub refuses a comment over 65,536 characters, and the hidden JSON needs room."""

LOG_BYTES_MAX = 512 * 1024
"""Kept of a run's output, half from its start and half from its end."""

OUTPUT_BYTES_MAX = 64 * 1024 * 1024
"""A step that prints more is killed: nobody reads it, and it fills the store."""

LOG_KEEP_S = 14 * 24 * 3600
"""How long a run's output can be read: two weeks cover a holiday."""

PATCH_BYTES_MAX = 256 * 1024
"""Of a diff, for evidence and pages."""

WEBHOOK_BYTES_MAX = 25 * 1024 * 1024
"""GitHub sends nothing larger."""

WEBHOOK_DEPTH_MAX = 64
"""Of nested JSON; real payloads stay below ten."""

CONFIG_BYTES_MAX = 64 * 1024
"""Of `.mergebot.toml`; the largest useful one is a few kilobytes."""

CHANGED_PATHS_MAX = 20_000
"""Paths one PR may change; beyond it nobody reviews, and a replay is no longer cheap."""

CLAIM_PATTERNS_MAX = 200
"""Patterns in one claim."""

PARK_REVIEW_S = 14 * 24 * 3600.0
"""Until a parked claim is due for review where nobody named a day; it stays parked after it."""

PATTERN_CHARS_MAX = 1024
"""Of one pattern: longer than the paths that people write, short enough to compare any two."""

LANE_LEASE_S = 15.0
"""How long a holder may be silent before another takes over; a process that lives extends it."""

BEAT_S = 2.0
"""How often a worker reports a run's progress."""

RUN_SILENT_S = 20.0
"""A run whose worker was silent this long is lost: ten missed beats."""

RUN_UNTAKEN_S = 15.0
"""A run that no worker took this long after its order is rung for again."""

WORKER_SILENT_S = 45.0
"""A worker host that was silent this long counts for nothing."""

IDLE_ALARM_S = 60.0
"""A queue that could move and did not for this long is stuck."""

READ_GOOD_S = 60.0
"""How long what a forge said of a pull request may be acted on; no answer takes that long."""

REWIND_SURE_S = 60.0
"""How long a trunk must look older than it was before it counts as rewound: replicas lag less."""

LOG_TAIL_CHARS = 4000
"""Of a failing step's output in its evidence."""

FIRST_ERROR_CHARS = 1500
"""Of the first error in its evidence."""

INFRA_WAIT_S = 5.0
"""Before a run without a verdict is tried again, times how often that happened."""

GREENS_MAX = 200
"""Commits remembered as green: longer than any chain of candidates on older bases."""

FORGE_WAIT_S = 15.0
"""Before a lane that the forge did not answer is tried again, where the forge did not say."""

UNREACHABLE_WAIT_S_MAX = 300.0
"""Between looks at a repository that is gone, or that the bot may not see any more."""

DISAGREE_WAIT_S = 2.0
"""Before a landing whose sources disagree is looked at again: forges answer from caches."""

LABEL_SLACK_S = 1.0
"""Between a label's time by the forge's clock, in whole seconds, and its admission by ours."""

WEBHOOK_WAIT_S = 10.0
"""How long a label whose head nobody can tell is left to its webhook: they come within seconds."""

GENERATION_LEAP = 1000
"""Added to the highest generation in any receipt when a record is rebuilt: generations that were
given out and landed nothing left no receipt, and there are never so many between two landings."""

LAST_WRITES = 10
"""Landings whose notices are written again after a recovery: the loss may have swallowed them."""

GROUP_AUTO_MAX = 8
"""Candidates in one group where the rules say "auto": beyond it, most groups hold a red one."""

GROUP_LONE_WORKER_MAX = 64
"""Candidates in one group of a lone worker: halving finds a red one in log2 of it runs."""

STARTS_MAX = 3
"""How often a piece of work may begin without an end before it counts as one that kills workers."""

RESULTS_KEEP_S = 14 * 24 * 3600
"""How long a green result stands for later gates: tools outside the commit age with it."""

STARTS_KEEP_S = 600.0
"""How long such a piece of work is left alone; a repaired or larger host then tries it again."""

ASIDE_MAX = 1000
"""Deliveries kept for a look after they were set aside; their PRs are found by the reconciler."""

LOOKS_AGAIN_S = (30.0, 300.0, 3600.0)
"""When comments are read again after somebody was paused over them: soon, and once the longest
pause that a laptop's lid makes is over."""

WRITES_PER_MINUTE = 80
"""Content writes of one account: more of them GitHub answers with a secondary rate limit."""

HANDS_PER_MINUTE = 40
"""Of these, what notices leave free for what somebody asks for right now."""

WRITES_WINDOW_S = 60.0
"""The minute of the limits above."""

COMMAND_GOOD_S = 3 * 24 * 3600.0
"""How old a comment may be and still be obeyed: forges deliver nothing again after three days."""

INFRA_WAIT_S_MAX = 300.0
"""Between runs on a tip that give no verdict: a broken set-up must not keep a machine busy."""

REDS_MAX = 100
"""Red tips of the trunk that are remembered, for a day."""
