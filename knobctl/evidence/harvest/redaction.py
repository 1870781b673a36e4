"""Takes secrets out of texts: the kinds that can be told by their form, then whatever looks drawn by lot. Pure.

A detector library was measured first: detect-secrets 1.5 with its 25 detectors of forms leaves 17 of the
30 planted secrets of tests/data/harvest in clear, and with those of entropy it takes every word of prose
for a secret.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import partial
from typing import Final

_FORMS: Final[tuple[tuple[str, str, str], ...]] = (
    # kind; words of which one stands in every such secret or beside it, in lower case; pattern, whose
    # named group is what is taken out, all of it where there is none
    (
        "private-key-block",
        "-----begin",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----))*(?:-----END [A-Z0-9 ]{0,60}-----)?",
    ),
    (
        "age-identity",
        "age-secret-key-",
        r"\bAGE-SECRET-KEY-1[0-9A-Z]{20,}",
    ),
    (
        "slack-webhook",
        "hooks.slack.com",
        r"https?://hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{20,}",
    ),
    (
        "discord-webhook",
        "/api/webhooks/",
        r"https?://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d{5,}/[\w-]{30,}",
    ),
    (
        "teams-webhook",
        "webhook.office.com",
        r"https?://[\w.-]+\.webhook\.office\.com/webhookb2/[\w@./-]{30,}",
    ),
    (
        "url-credentials",
        "://",
        r"\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s:/@?#]{0,100}:(?P<secret>[^\s/]{1,200})@|(?P<only>(?=[^\s:/@?#]{0,99}\d)[^\s:/@?#]{16,200})@)",
    ),
    (
        "jwt",
        "ey",
        r"\bey[JK][\w-]{8,}\.ey[\w-]{8,}(?:\.[\w-]*)?",
    ),
    (
        "anthropic-api-key",
        "sk-ant-",
        r"\bsk-ant-[\w-]{20,}",
    ),
    (
        "openai-api-key",
        "sk-",
        r"\bsk-(?:proj|svcacct|admin|None|or-v\d)-[\w-]{20,}|(?<![\w-])sk-(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{20,}",
    ),
    (
        "aws-access-key-id",
        "akia asia abia acca agpa aida aroa",
        r"\b(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA)[0-9A-Z]{16}\b",
    ),
    (
        "aws-secret-access-key",
        "aws secret",
        r"(?i:aws|secret)[\w .-]{0,30}(?i:key|secret)\w{0,10}[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    (
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})",
    ),
    (
        "gitlab-token",
        "gl",
        r"\bgl(?:pat|dt|rt|ptt|ft|imt|agent|cbt|oas|soat)-[\w-]{16,}(?:\.[\w.]{2,20})?",
    ),
    (
        "slack-token",
        "xox xapp-",
        r"\bxox[abeoprs](?:\.\w+)?-[\w-]{10,}|\bxapp-\d-[\w-]{10,}",
    ),
    (
        "stripe-key",
        "k_live_ k_test_ whsec_",
        r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9]{20,}",
    ),
    (
        "google-api-key",
        "aiza",
        r"\bAIza[\w-]{30,}",
    ),
    (
        "google-oauth",
        "ya29. gocspx- 1//0",
        r"\b(?:ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|1//0[\w-]{30,})",
    ),
    (
        "npm-token",
        "npm_",
        r"\bnpm_[A-Za-z0-9]{30,}",
    ),
    (
        "python-index-token",
        "pypi-",
        r"\bpypi-[\w-]{30,}",
    ),
    (
        "rubygems-token",
        "rubygems_",
        r"\brubygems_[0-9a-f]{40,}",
    ),
    (
        "huggingface-token",
        "hf_",
        r"\bhf_[A-Za-z0-9]{20,}",
    ),
    (
        "sendgrid-key",
        "sg.",
        r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
    ),
    (
        "mailgun-key",
        "key-",
        r"\bkey-[0-9a-f]{32}\b",
    ),
    (
        "paypal-token",
        "access_token$",
        r"\baccess_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    (
        "airtable-token",
        "pat key",
        r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b|\bkey(?=[a-z0-9]*[A-Z][a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{14}\b",
    ),
    (
        "asana-token",
        "0/ 1/ 2/",
        r"\b\d/\d{16}(?:/\d{16})?:[0-9a-f]{32}\b",
    ),
    (
        "cloudflare-key",
        "v1.0-",
        r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{100,}",
    ),
    (
        "dynatrace-token",
        "dt0",
        r"\bdt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    ),
    (
        "infisical-token",
        "st.",
        r"\bst\.[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}",
    ),
    (
        "razorpay-key",
        "rzp_",
        r"\brzp_(?:live|test)_[A-Za-z0-9]{14}",
    ),
    (
        "scaleway-key",
        "scw",
        r"\bSCW(?=[A-Z]*\d)[A-Z0-9]{17}\b",
    ),
    (
        "putty-key",
        "private-mac private-lines",
        r"(?i:Private-MAC):\s{0,3}(?P<secret>[0-9a-f]{40,})",
    ),
    (
        "azure-client-secret",
        "q~",
        r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}",
    ),
    (
        "password-digest",
        "$2 $5$ $6$ $y$ $argon2",
        r"\$(?:2[abxy]?|5|6|y|argon2i?d?)\$[\w.,=$+/-]{20,}",
    ),
    (
        "vendor-token",
        "gr1348941 sb_secret_ ltai pscale_ cfpat- duffel_ sha256~ ssws oy2 token-",
        (
            r"\b(?:(?:GR1348941|sb_secret_|LTAI|pscale_(?:tkn|pw|oauth)_|CFPAT-|duffel_(?:live|test)_|sha256~|SSWS 00)[\w-]{18,}"
            r"|oy2[a-z0-9]{43}\b|token-[a-z0-9]{5}:[a-z0-9]{54}\b)"
        ),
    ),
    (
        "twilio-key",
        "sk ac",
        r"\b(?:SK|AC)[0-9a-f]{32}\b",
    ),
    (
        "telegram-bot-token",
        ":aa",
        r"\b\d{8,12}:AA[\w-]{20,}",
    ),
    (
        "discord-bot-token",
        ".",
        r"\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}",
    ),
    (
        "digitalocean-token",
        "_v1_",
        r"\bdo[por]_v1_[0-9a-f]{40,}",
    ),
    (
        "shopify-token",
        "shp",
        r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    ),
    (
        "square-token",
        "sq0 eaaa",
        r"\bsq0(?:atp|csp|idp)-[\w-]{20,}|\bEAAA[\w-]{50,}",
    ),
    (
        "databricks-token",
        "dapi",
        r"\bdapi[0-9a-f]{32}(?:-\d)?\b",
    ),
    (
        "docker-token",
        "dckr_",
        r"\bdckr_(?:pat|oat)_[\w-]{20,}",
    ),
    (
        "vault-token",
        "hvs. hvb. hvr. s.",
        r"\bhv[sbr]\.[\w-]{20,}|\bs\.[A-Za-z0-9]{24}\b",
    ),
    (
        "atlassian-token",
        "atatt3 atctt3",
        r"\bATATT3[\w=-]{50,}|\bATCTT3[\w=-]{50,}",
    ),
    (
        "linear-key",
        "lin_",
        r"\blin_(?:api|oauth)_[A-Za-z0-9]{30,}",
    ),
    (
        "grafana-token",
        "glsa_ glc_",
        r"\bgl(?:sa|c)_[\w=+/-]{20,}",
    ),
    (
        "new-relic-key",
        "nrak- nrjs- nrra- nrii-",
        r"\bNR(?:AK|JS|RA|II)-[A-Za-z0-9]{20,}",
    ),
    (
        "postman-key",
        "pmak-",
        r"\bPMAK-[0-9a-f]{20,}-[0-9a-f]{20,}",
    ),
    (
        "azure-storage-key",
        "accountkey sharedaccesskey",
        r"(?i:(?:Account|SharedAccess)Key)=[A-Za-z0-9+/]{40,}={0,2}",
    ),
    (
        "azure-signature",
        "sig= signature=",
        r"[?&;](?:sig|signature)=(?P<secret>[\w%+/=-]{20,})",
    ),
    (
        "aws-signature",
        "x-amz-",
        r"X-Amz-(?:Signature|Security-Token)=(?P<secret>[\w%+/=-]{20,})",
    ),
    (
        "bearer-header",
        "bearer",
        r"(?i:\bbearer)\s{1,4}(?P<secret>[\w.~+/=-]{8,})",
    ),
    (
        "basic-header",
        "basic",
        r"(?i:\bauthorization[\"']?\s{0,3}:\s{0,3}[\"']?basic)\s{1,4}(?P<secret>[A-Za-z0-9+/=]{6,})",
    ),
    (
        "authorization-header",
        "authorization",
        r"(?i:\b(?:proxy-)?authorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:[A-Za-z]{2,20}\s{1,4})?(?P<secret>(?=[^\s\"']{0,200}\d)[\w.~+/=:-]{12,})",
    ),
    (
        "key-header",
        "-key -token",
        r"(?i:\b[\w-]{1,40}-(?:key|token))[\"']?:\s{0,3}[\"']?(?P<secret>(?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{16,})",
    ),
    (
        "query-credential",
        "auth= key= code= sig= pwd= pass=",
        r"[?&](?:auth|key|apikey|code|sig|pwd|pass)=(?P<secret>[\w.~%+/=-]{16,})",
    ),
    (
        "curl-credentials",
        "-u --user",
        r"(?i:\b(?:curl|wget)\b[^\n|;]{0,200}\s(?:-u|--user)[ =]?)[\"']?[^\s:\"']{1,60}:(?P<secret>[^\s\"']{4,200})",
    ),
    (
        "client-password",
        "mysql mariadb sshpass redis-cli",
        r"\b(?:(?:mysql|mariadb)\w*\b[^\n|;]{0,200}\s-p|sshpass\s{1,4}-p\s{0,4}|redis-cli\b[^\n|;]{0,200}\s-a\s{1,4})[\"']?(?P<secret>[^\s\"']{4,200})",
    ),
    (
        "netrc-password",
        "login ",
        r"\blogin\s{1,4}\S{1,100}\s{1,4}password\s{1,4}(?P<secret>\S{4,200})",
    ),
    (
        "told-password",
        "passw passphrase",
        r"(?i:\b(?:password|passphrase)\s{1,3}(?:is|was|=|to)\s{1,3})[\"'`]?(?P<secret>(?=\S{0,200}\d)(?=\S{0,200}[A-Z!@#$%^&*])[^\s\"'`?]{8,200})",
    ),
    (
        "cookie-header",
        "cookie",
        r"(?i:\b(?:set-)?cookie)\s{0,3}:\s{0,3}(?P<secret>[^\r\n]{8,})",
    ),
    (
        "password-assignment",
        "passw pwd passphrase secret token key credential",
        (
            r"(?i:\b[\w.-]{0,60}(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?[\w-]{0,20})"
            r"(?:[\"']?\s{0,3}(?:=|:=|=>)\s{0,3}|[\"']\s{0,3}:\s{0,3})(?:\"(?P<q>[^\"\n]{4,200})\"|'(?P<a>[^'\n]{4,200})'|(?P<secret>[^\s\"',;)]{4,200}))"
        ),
    ),
    (
        "password-assignment",
        "passw pwd passphrase secret token key credential",
        r"(?i:\b[\w.-]{0,60}(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key)):\s{0,3}[\"']?(?P<secret>(?=[^\s\"',;]{0,200}[\d!@#$%^&*])[^\s\"',;?]{6,200})",
    ),
    (
        "password-option",
        "-",
        r"--?(?i:pass(?:word|wd|phrase)?|token|secret|api-?key|access-?key|auth)[= ][\"']?(?P<secret>(?=[^\s\"']{0,200}\d)[^\s\"']{6,200})",
    ),
)
_RUN_FORMS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        # kind and pattern, of those that are a run of characters from beginning to end
        ("mailgun-key", r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
        ("mailchimp-key", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
        (
            "onepassword-key",
            r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b",
        ),
        (
            "uuid-token",
            r"\b(?:sdk|pat|access|api|token|secret)-(?:[a-z0-9]{2,12}-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
        ),
        (
            "prefixed-token",
            r"\b(?!(?:sha|md|commit|rev|hash|digest|etag|checksum|blob|tree|image|build)[\d_-])[A-Za-z][A-Za-z0-9]{1,11}(?:_[a-z]{2,8})?(?:_|(?<=pul)-|(?<=FLWSECK)-)(?:[0-9a-f]{32,}|(?=[a-z]{0,40}\d)[0-9a-z]{34,})(?![0-9A-Za-z])",
        ),
    )
)
KINDS: Final = (*dict.fromkeys(kind for kind, *_ in (*_FORMS, *_RUN_FORMS)), "high-entropy")
"""The kinds of secrets that are told apart."""
_PATTERNS: Final = tuple((kind, re.compile(pattern)) for kind, _, pattern in _FORMS)
_WORDS: Final = tuple(
    (word, number) for number, (_, words, _) in enumerate(_FORMS) for word in words.split()
)
_RUN: Final = re.compile(r"[A-Za-z0-9+/=_-]{20,}")
_REDACTED: Final = re.compile(r"\[redacted [a-z-]+\]")
_HEX: Final = re.compile(r"(?:[0-9a-f]+|[0-9A-F]+)")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_NAME: Final = re.compile(r"[A-Z]?[a-z]{3,}")
_LONG: Final = 34
_LEAST_BITS: Final = 3.5
"""Entropy of a character, in bits, from which a mixed run counts as drawn by lot."""


def redacted(text: str, found: Counter[str]) -> str:
    """Put marks in place of secrets.

    Args:
        text: Any text.
        found: Told how many were taken out, by kind.
    """
    lower = text.lower()
    for number in sorted({number for word, number in _WORDS if word in lower}):
        kind, pattern = _PATTERNS[number]
        text = pattern.sub(partial(_marked, kind=kind, found=found), text)
    return _RUN.sub(lambda one: _without_run(one, found), text)


def _marked(one: re.Match[str], *, kind: str, found: Counter[str]) -> str:
    whole = one[0]
    named = [name for name, value in one.groupdict().items() if value is not None]
    start, end = one.span(named[0]) if named else one.span()
    if _REDACTED.search(one.string, max(0, start - 12), end + 40) and _inside_mark(
        one.string, start
    ):
        return whole
    found[kind] += 1
    before, after = whole[: start - one.start()], whole[end - one.start() :]
    return f"{before}[redacted {kind}]{after}"


def _inside_mark(text: str, at: int) -> bool:
    """Whether a place lies in a mark that was put there before."""
    start = text.rfind("[redacted ", 0, at + 10)
    return start >= 0 and (mark := _REDACTED.match(text, start)) is not None and at < mark.end()


def _without_run(one: re.Match[str], found: Counter[str]) -> str:
    run = one[0]
    for kind, pattern in _RUN_FORMS:
        run = pattern.sub(partial(_marked, kind=kind, found=found), run)
    if run != one[0] or not _is_drawn(run):
        return run
    found["high-entropy"] += 1
    return "[redacted high-entropy]"


def _is_drawn(run: str) -> bool:
    """Whether a run of characters looks drawn by lot: no digest, no UUID, no words put together."""
    if _UUID.search(run):
        run = _UUID.sub("", run)
    return any(_is_drawn_part(part) for part in re.split(r"[-_/=]", run)) or _is_drawn_whole(run)


def _is_drawn_part(part: str) -> bool:
    if len(part) < 16 or _HEX.fullmatch(part):
        return False
    lower, upper, digit = (re.search(kind, part) for kind in ("[a-z]", "[A-Z]", r"\d"))
    size, words = len(part), len(_WORD.findall(part))
    if lower and upper and digit:
        is_mixed = words >= size / 4
    elif lower and upper:
        is_mixed = size >= 20 and words >= size / 3
    else:  # one case: long, and going back and forth between letters and digits
        is_mixed = bool(digit) and size >= _LONG and words >= size / 4
    return is_mixed and not (upper and _is_of_words(part)) and _bits(part) >= _LEAST_BITS


def _is_of_words(run: str) -> bool:
    """Whether nearly all of it is words, as in a name put together of them."""
    return sum(map(len, _NAME.findall(run))) >= 0.75 * len(run)


def _is_drawn_whole(run: str) -> bool:
    """Drawn with separators among its letters, so that no part is long enough to tell."""
    parts = [part for part in re.split(r"[-_/=+]", run) if part]
    mixed = [
        part
        for part in parts
        if all(re.search(kind, part) for kind in ("[a-z]", "[A-Z]", r"\d"))
        and len(_WORD.findall(part)) >= len(part) / 4
    ]
    if _is_of_words("".join(parts)):
        return False
    return sum(map(len, mixed)) >= 16 and _bits(run) >= _LEAST_BITS + 0.5


def _bits(text: str) -> float:
    """Shannon's entropy of a text's characters, in bits a character."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())
