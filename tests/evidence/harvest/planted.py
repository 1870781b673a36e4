"""Secrets as their makers form them, drawn by a seed: fake, and of every kind that is told apart."""

from __future__ import annotations

import base64
import string
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
B64 = LETTERS + "+/"
LOWER = string.ascii_lowercase + string.digits
URL = LETTERS + "-_"


def drawn(chance: Random, alphabet: str, size: int) -> str:
    """So many characters of an alphabet."""
    return "".join(chance.choices(alphabet, k=size))


def _pem(chance: Random) -> str:
    kind = chance.choice(["RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED "])
    body = "\n".join(drawn(chance, B64, 64) for _ in range(chance.randint(1, 4)))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def _jwt(chance: Random) -> str:
    part = base64.urlsafe_b64encode(f'{{"sub":"{drawn(chance, LETTERS, 12)}"}}'.encode()).decode()
    return f"eyJhbGciOiJIUzI1NiJ9.{part.rstrip('=')}.{drawn(chance, URL, 43)}"


PLANTED: dict[str, tuple[str, Callable[[Random], str]]] = {
    # kind: the words around it, and how it is drawn
    "private-key-block": ("{}", _pem),
    "age-identity": ("{}", lambda c: "AGE-SECRET-KEY-1" + drawn(c, UPPER, 58)),
    "slack-webhook": (
        "{}",
        lambda c: (
            f"https://hooks.slack.com/services/T{drawn(c, UPPER, 8)}/B{drawn(c, UPPER, 8)}/{drawn(c, LETTERS, 24)}"
        ),
    ),
    "discord-webhook": (
        "{}",
        lambda c: (
            f"https://discord.com/api/webhooks/{drawn(c, string.digits, 18)}/{drawn(c, URL, 68)}"
        ),
    ),
    "url-credentials": (
        "postgres://app:{}@db.example.test:5432/app",
        lambda c: drawn(c, LETTERS + "!$*-_", c.randint(8, 30)),
    ),
    "jwt": ("{}", _jwt),
    "anthropic-api-key": ("{}", lambda c: "sk-ant-api03-" + drawn(c, URL, 93)),
    "openai-api-key": (
        "{}",
        lambda c: c.choice(["sk-proj-" + drawn(c, URL, 60), "sk-" + "7" + drawn(c, LETTERS, 47)]),
    ),
    "aws-access-key-id": ("{}", lambda c: c.choice(["AKIA", "ASIA"]) + drawn(c, UPPER, 16)),
    "aws-secret-access-key": ("aws_secret_access_key = {}", lambda c: drawn(c, B64, 40)),
    "github-token": (
        "{}",
        lambda c: c.choice(
            ["ghp_" + drawn(c, LETTERS, 36), "github_pat_11" + drawn(c, LETTERS + "_", 80)]
        ),
    ),
    "gitlab-token": ("{}", lambda c: "glpat-" + drawn(c, URL, 20)),
    "slack-token": (
        "{}",
        lambda c: (
            f"xoxb-{drawn(c, string.digits, 12)}-{drawn(c, string.digits, 13)}-{drawn(c, LETTERS, 24)}"
        ),
    ),
    "stripe-key": (
        "{}",
        lambda c: c.choice(["sk_live_", "rk_live_", "sk_test_"]) + drawn(c, LETTERS, 24),
    ),
    "google-api-key": ("{}", lambda c: "AIza" + drawn(c, URL, 35)),
    "npm-token": ("{}", lambda c: "npm_" + drawn(c, LETTERS, 36)),
    "python-index-token": ("{}", lambda c: "pypi-AgEIcHlwaS5vcmc" + drawn(c, URL, 120)),
    "huggingface-token": ("{}", lambda c: "hf_" + drawn(c, string.ascii_letters, 34)),
    "sendgrid-key": ("{}", lambda c: f"SG.{drawn(c, URL, 22)}.{drawn(c, URL, 43)}"),
    "twilio-key": ("{}", lambda c: "SK" + drawn(c, HEX, 32)),
    "telegram-bot-token": (
        "{}",
        lambda c: f"{drawn(c, string.digits, 10)}:AA{drawn(c, URL, 33)}",
    ),
    "digitalocean-token": ("{}", lambda c: "dop_v1_" + drawn(c, HEX, 64)),
    "shopify-token": ("{}", lambda c: "shpat_" + drawn(c, HEX, 32)),
    "azure-storage-key": (
        "AccountName=logs;{}",
        lambda c: "AccountKey=" + drawn(c, B64, 86) + "==",
    ),
    "bearer-header": ("Authorization: Bearer {}", lambda c: drawn(c, LETTERS + "._~+/", 40)),
    "basic-header": (
        "Authorization: Basic {}",
        lambda c: base64.b64encode(drawn(c, LETTERS + ":", 24).encode()).decode(),
    ),
    "password-assignment": ("DB_PASSWORD={}", lambda c: drawn(c, LETTERS + "!#%*-", 14)),
    "vault-token": ("{}", lambda c: "hvs." + drawn(c, URL, 90)),
    "databricks-token": ("{}", lambda c: "dapi" + drawn(c, HEX, 32)),
    "docker-token": ("{}", lambda c: "dckr_pat_" + drawn(c, URL, 27)),
    "high-entropy": ("{}", lambda c: "aB3" + drawn(c, LETTERS, 45)),
    "vendor-token": (
        "{}",
        lambda c: c.choice(["GR1348941", "sb_secret_", "CFPAT-", "pscale_pw_"]) + drawn(c, URL, 43),
    ),
    "prefixed-token": (
        "{}",
        lambda c: (
            c.choice(["sbp_", "squ_", "bkua_", "sntryu_", "shippo_live_", "pul-"])
            + drawn(c, HEX, 40)
        ),
    ),
    "uuid-token": (
        "{}",
        lambda c: (
            f"{c.choice(['sdk', 'pat-na1', 'access-production'])}-{UUID(int=c.getrandbits(128))}"
        ),
    ),
    "mailgun-key": ("{}", lambda c: "-".join(drawn(c, HEX, size) for size in (32, 8, 8))),
    "mailchimp-key": ("{}", lambda c: f"{drawn(c, HEX, 32)}-us{c.randint(1, 21)}"),
    "paypal-token": (
        "{}",
        lambda c: f"access_token$production${drawn(c, LOWER, 16)}${drawn(c, HEX, 32)}",
    ),
    "airtable-token": ("{}", lambda c: f"pat{drawn(c, LETTERS, 14)}.{drawn(c, HEX, 64)}"),
    "asana-token": ("{}", lambda c: f"1/{drawn(c, string.digits, 16)}:{drawn(c, HEX, 32)}"),
    "cloudflare-key": ("{}", lambda c: f"v1.0-{drawn(c, HEX, 24)}-{drawn(c, HEX, 146)}"),
    "dynatrace-token": ("{}", lambda c: f"dt0c01.{drawn(c, UPPER, 24)}.{drawn(c, UPPER, 64)}"),
    "onepassword-key": (
        "{}",
        lambda c: "A3-" + "-".join(drawn(c, UPPER, size) for size in (6, 11, 5, 5, 5)),
    ),
    "infisical-token": ("{}", lambda c: "st." + ".".join(drawn(c, HEX, n) for n in (24, 32, 32))),
    "razorpay-key": ("{}", lambda c: "rzp_live_" + drawn(c, LETTERS, 14)),
    "scaleway-key": ("{}", lambda c: "SCW7" + drawn(c, UPPER, 16)),
    "putty-key": ("Private-MAC: {}", lambda c: drawn(c, HEX, 64)),
    "azure-client-secret": ("{}", lambda c: f"{drawn(c, LETTERS, 3)}8Q~{drawn(c, LETTERS, 34)}"),
    "password-digest": (
        "root:{}:19000",
        lambda c: f"$6${drawn(c, LETTERS, 16)}${drawn(c, B64, 86)}",
    ),
    "authorization-header": ("Authorization: Token {}", lambda c: drawn(c, HEX, 40)),
    "key-header": ("Ocp-Apim-Subscription-Key: {}", lambda c: drawn(c, HEX, 32)),
    "query-credential": ("wss://feed.example.test/?auth={}", lambda c: drawn(c, HEX, 32)),
    "curl-credentials": (
        "curl -sS -u admin:{} https://ci.example.test",
        lambda c: drawn(c, LETTERS, 12),
    ),
    "client-password": ("mysql -u root -p{} app", lambda c: drawn(c, LETTERS, 12)),
    "netrc-password": (
        "machine ci.example.test login bot password {}",
        lambda c: drawn(c, LETTERS, 12),
    ),
    "told-password": ("the password is {}", lambda c: "A7" + drawn(c, LETTERS, 10)),
}
