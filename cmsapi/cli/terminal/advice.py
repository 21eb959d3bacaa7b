"""Reword the messages of the SDK for a shell: commands, options and variables in place of methods and arguments."""

from __future__ import annotations

import re

_ROUTE = r"Client\(operations=OPERATIONS\.override\(.*?\)\)\."

# Patterns in messages of the SDK with their replacements for a shell, applied in this order.
_REPLACEMENTS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"pass Client\([^)]*\) or set (\w+)", r"set \1"),
        (
            r"set CMSAPI_API_KEY\.",
            "set CMSAPI_API_KEY. Without an account: cmsapi demo, or cmsapi sandbox, which prints a key.",
        ),
        (r", or launch with LaunchPolicy\(dedupe='allow'\)", ""),
        (r"Client\(…, allow_http=True\)", "--allow-http"),
        (rf"If the service has another one, use {_ROUTE}", "cmsapi doctor shows whether the service has another one."),
        (rf"Check the candidates, then use {_ROUTE}", "Only a program can use the candidates, with the SDK."),
        (
            r"Say what these words mean: use Client\(polling=.*",
            "Only a program can say what these words mean, with the SDK.",
        ),
        (r"PollPolicy\(words=\.\.\.\) tells what it means", "Only a program can say what it means, with the SDK"),
        (r" \(RetryPolicy\.max_retry_after[^)]*\)", ""),
        (r"Wait `retry_after` seconds, or raise `RetryPolicy\.max_attempts`\.", "Wait, then run the command again."),
        (r"batch\.retry_failed\(\) lets the next map launch it", "--retry failed launches it"),
        (r"batch\.retry_unknown\(\) lets the next map launch it", "--retry unknown launches it"),
        (r"client\.keywords\.get shows whether it runs; .* waits for it\.", "cmsapi keywords shows its analysis."),
        (r"client\.prompts\.get shows whether it runs; .* waits for it\.", "cmsapi credits shows its credit."),
        (
            r"client\.contents\.generation shows whether there is one; .* waits for it\.",
            "cmsapi contents show shows whether there is one.",
        ),
        (r"client\.credit_usages\.list\('content_idea_search'\)", "cmsapi credits --csv"),
        (r"client\.credit_usages\b", "cmsapi credits"),
        # Only a generation can be superseded.
        (r"client\.jobs\.watch\('\w+', '([^']*)'\) follows", r"cmsapi contents show \1 shows"),
        (r"wait again with a longer `timeout`, or keep its token, .*", "wait again with a longer --timeout."),
        (r"`client\.me\(\)` shows the balances", "cmsapi me shows the balances"),
        (r"client\.jobs\.attach\('?([^')]*)'?\)", r"cmsapi jobs watch \1"),
        (r"client\.contents\.review\('([^']*)'\)", r"cmsapi contents review \1"),
        (r"\bLaunchPolicy\(max_credits=\)", "--max-credits"),
        (
            r"`job\.token` gives one\. `client\.jobs\.watch\(kind, id\)` .* without one\.",
            "cmsapi jobs list --json shows the tokens.",
        ),
        (r"^(`?)state\1 (is|must)\b", r"--state or CMSAPI_STATE \2"),
        (r"^state='((?:redis|postgresql)://…)'", r"--state \1"),
        (r"; `Timeouts\(connect=\)` is how long to wait", ""),
        (r"Load a private authority .* pass it as `ssl`\.", "SSL_CERT_FILE may name a file with a private authority."),
        (r"; `ssl` takes a context\.", "."),
        (r"\[Errno -?\d+\] ", ""),
        (r"be Unicode text, got half a surrogate pair", "be UTF-8"),
        (r"\bbase_url\b", "CMSAPI_BASE_URL"),
        (r"\bmax_credits\b", "--max-credits"),
    )
]


def for_shell(text: str) -> str:
    """Return a message of the SDK with the words of a shell."""
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return text
