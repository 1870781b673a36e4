"""Keeps one comment on a pull request up to date. What goes wrong here is told and fails nothing.

Usage: comment.py REPORT ANSWER [NAME]; the rest is what GitHub sets for a step, and GITHUB_TOKEN.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 65_000
"""Characters; GitHub takes 65,536."""
MOST_PAGES = 100
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class GitHub:
    """The API, with who asks."""

    url: str
    graphql: str
    token: str

    def call(self, method: str, url: str, body: dict[str, Any] | None = None) -> tuple[Any, str]:
        """Send one request; give the answer and the `Link` header."""
        request = Request(  # noqa: S310  the address is the one that GitHub sets
            url,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310  see above
            told = answer.read()
            return json.loads(told) if told else None, answer.headers.get("Link", "")

    def own_name(self) -> str:
        """Who comments with this token: GraphQL tells also those that are no person."""
        answer, _ = self.call("POST", self.graphql, {"query": "{ viewer { login } }"})
        return str(answer["data"]["viewer"]["login"])

    def comments(self, url: str) -> Iterator[dict[str, Any]]:
        """All comments, page by page."""
        page: str | None = f"{url}?per_page=100"
        for _ in range(MOST_PAGES):
            if page is None:
                return
            found, link = self.call("GET", page)
            yield from found
            page = next_page(link)


def next_page(link: str) -> str | None:
    """The address of the next page, as a `Link` header tells it."""
    for part in link.split(","):
        address, _, relation = part.partition(";")
        if 'rel="next"' in relation:
            return address.strip().strip("<>")
    return None


def is_own(comment: dict[str, Any], name: str, mark: str) -> bool:
    """Whether this comment is ours: begun with our mark, and by us; anybody can write a mark."""
    user = comment.get("user") or {}
    same = str(user.get("login", "")).removesuffix("[bot]") == name.removesuffix("[bot]")
    is_bot = user.get("type") == "Bot"
    return (
        same
        and (is_bot or not name.endswith("[bot]"))
        and str(comment.get("body")).startswith(mark)
    )


def has_news(answer: Path) -> bool:
    """Whether a first comment is worth writing: something new was found, or a tenant changes or goes."""
    try:
        told = json.loads(answer.read_bytes())
    except (OSError, ValueError):
        return True
    summary = told.get("summary", {})  # what stopped the check before it had an answer has none
    found = told["exit_code"] or summary.get("errors") or summary.get("warnings")
    changes = [one for one in told.get("tenants", []) if one["changes"]]
    return bool(found or changes or told.get("removed_tenants"))


def marked(report: str, name: str) -> tuple[str, str]:
    """The report with its mark as the first line, and the mark; a name makes it another."""
    mark, _, rest = report.partition("\n")
    if name:
        word = "".join(char if char.isalnum() else "-" for char in name)
        mark = f"<!-- knobctl check of {word} -->"
    return f"{mark}\n{rest}"[:LONGEST], mark


def keep_comment(github: GitHub, url: str, report: str, name: str, *, is_news: bool) -> str:
    """Update our comment, or write the first; give what was done."""
    body, mark = marked(report, name)
    own_name = github.own_name()
    repository, _, _ = url.partition("/issues/")
    addresses = {
        f"{repository}/issues/comments/{int(comment['id'])}": comment["body"]
        for comment in github.comments(url)
        if is_own(comment, own_name, mark)
    }
    kept = False
    for address, written in addresses.items():
        # Of two that runs at the same time wrote, the one that nobody updates would tell an old verdict.
        kept = is_there(github, address, None if kept else body, written) or kept
    if kept:
        return "comment updated"
    if not is_news:
        return "no comment: nothing found, nothing changes"
    github.call("POST", url, {"body": body})
    return "comment written"


def is_there(github: GitHub, address: str, body: str | None, written: str) -> bool:
    """Bring a comment up to date, or take it away where it shall say nothing; whether it is there afterwards."""
    try:
        if body is None:
            github.call("DELETE", address)
        elif body != written:
            github.call("PATCH", address, {"body": body})
    except HTTPError as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return False  # somebody has deleted it since
    return body is not None


def main(report: str, answer: str, name: str = "") -> None:
    """Keep the comment of the pull request that this run is about."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes())
    number = (event.get("pull_request") or {}).get("number")
    if number is None:
        print("no comment: this run is about no pull request")
        return
    api = os.environ["GITHUB_API_URL"]
    github = GitHub(
        api, os.environ.get("GITHUB_GRAPHQL_URL", f"{api}/graphql"), os.environ["GITHUB_TOKEN"]
    )
    url = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{int(number)}/comments"
    text = Path(report).read_text(encoding="utf-8")
    try:
        print(keep_comment(github, url, text, name, is_news=has_news(Path(answer))))
    except HTTPError as error:
        is_limited = (
            "retry-after" in error.headers or error.headers.get("x-ratelimit-remaining") == "0"
        )
        if is_limited:
            told("GitHub takes no more requests for now")
        elif error.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
            why = "this token may not write on the pull request, as a fork's may not; to allow it: permissions: pull-requests: write"
            print(f"::notice title=knobctl::no comment: {why}. The report is in the job summary")
        else:
            told(f"GitHub answered {error.code}")
    except (OSError, HTTPException, ValueError, LookupError, TypeError, AttributeError) as error:
        told(type(error).__name__)


def told(why: str) -> None:
    """Say that there is no comment, as a warning: the verdict is not touched."""
    print(f"::warning title=knobctl::no comment: {why}. The report is in the job summary")


if __name__ == "__main__":
    main(*sys.argv[1:])
