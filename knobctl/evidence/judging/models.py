"""A language model behind an OpenAI-compatible endpoint: POST BASE/chat/completions."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError
from urllib3.util.retry import Retry

from knobctl.errors import KnobctlError, RefusedError
from knobctl.evidence.harvest.lines import texts_of
from knobctl.evidence.judging.cost import Tokens
from knobctl.text import visible

if TYPE_CHECKING:
    from knobctl.evidence.judging.cost import Model
    from knobctl.evidence.judging.prompts import Prompt

CONNECT_TIMEOUT_S: Final = 10.0
ANSWER_TIMEOUT_S: Final = 180.0
LARGEST_ANSWER: Final = 4 << 20
_PIECE: Final = 1 << 16


class ModelError(KnobctlError):
    """A model gave no answer."""

    def __init__(
        self, message: str, *, refused: bool = False, tokens: Tokens | None = None
    ) -> None:
        super().__init__(message)
        self.refused = refused
        """Whether it was reached and would not answer this; else it may answer later."""
        self.tokens = tokens or Tokens()
        """What it spent nevertheless."""


class NoTextError(ModelError):
    """A model answered and said nothing: its tokens were spent before it came to that."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said."""

    text: str
    tokens: Tokens


class Endpoint:
    """One endpoint. A session a thread; retries what is safe: a completion changes nothing."""

    def __init__(self, base_url: str, key: str | None, *, retries: int, backoff_s: float) -> None:
        """Take where it is, without asking it anything.

        Args:
            base_url: Such as `https://api.example/v1`.
            key: Sent as a bearer token; None to send none.
            retries: How often a failed call is sent again.
            backoff_s: The first pause; it doubles each time.

        Raises:
            RefusedError: If the key would travel unencrypted over a network.
        """
        from knobctl.engine.target import is_loopback

        self._url = base_url.rstrip("/") + "/chat/completions"
        try:
            host = urlsplit(base_url).hostname or ""
        except ValueError:  # half an address of version 6
            host = ""
        if not base_url.startswith(("https://", "http://")) or not host:
            raise RefusedError(f"--base-url {visible(base_url)} must be http(s)://HOST/...")
        if base_url.startswith("http://") and not is_loopback(host):
            raise RefusedError(
                f"--base-url {visible(base_url)} would carry questions and the key unencrypted",
                hint="use https://; plain http:// is for this machine",
            )
        self._key = key
        self._policy = Retry(
            total=retries,
            status_forcelist=(408, 429, 500, 502, 503, 504),
            allowed_methods=frozenset({"POST"}),
            backoff_factor=backoff_s,
            backoff_jitter=backoff_s / 2,
            backoff_max=60,
            redirect=0,
            raise_on_status=False,
        )
        self._own = threading.local()

    def complete(self, model: Model, prompt: Prompt, *, max_tokens: int) -> Reply:
        """Ask a model.

        Raises:
            NoTextError: If it answered with no text.
            ModelError: If it did not answer.
        """
        body = {
            "model": model.name,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            "temperature": 0,
            "max_tokens": max_tokens,
        }
        try:
            with self._session.post(
                self._url,
                json=body,
                timeout=(CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S),
                allow_redirects=False,
                stream=True,
            ) as response:
                raw = _body(response)
        except (requests.RequestException, HTTPError, OSError) as error:
            raise ModelError(f"{model.name} cannot be reached: {type(error).__name__}") from error
        if response.status_code != requests.codes.ok:
            raise ModelError(
                f"{model.name} answered {response.status_code}: {self._words(raw)}",
                refused=response.status_code in {400, 413, 422},
            )
        return self._reply(model, prompt, raw)

    def _reply(self, model: Model, prompt: Prompt, raw: bytes) -> Reply:
        import json

        try:
            value: Any = json.loads(raw)
            content = value["choices"][0]["message"].get("content")
            usage = value.get("usage")
        except (
            ValueError,
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            raise ModelError(f"{model.name} answered nonsense: {self._words(raw)}") from error
        text = "".join(texts_of(content))
        tokens = _stated(usage) or model.tokens_of(prompt.system + prompt.user, text)
        if not text.strip():
            raise NoTextError(f"{model.name} said nothing", tokens=tokens)
        return Reply(text, tokens)

    def _words(self, raw: bytes) -> str:
        """The beginning of what it said, without our key."""
        from knobctl.engine.answers import excerpt

        return excerpt(raw, self._key)

    @property
    def _session(self) -> requests.Session:
        if not hasattr(self._own, "session"):
            session = requests.Session()
            adapter = HTTPAdapter(max_retries=self._policy)
            session.mount("https://", adapter)
            session.mount("http://", adapter)
            if self._key:
                session.headers["Authorization"] = f"Bearer {self._key}"
            self._own.session = session
        session_: requests.Session = self._own.session
        return session_


def _body(response: requests.Response) -> bytes:
    """What was answered, to a limit of size and of time; the first part of what is larger."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    body = bytearray()
    while len(body) <= LARGEST_ANSWER and (
        piece := response.raw.read1(_PIECE, decode_content=True)
    ):
        body += piece
        if time.monotonic() > deadline:
            raise TimeoutError
    return bytes(body)


def _stated(usage: object) -> Tokens | None:
    """The tokens that an answer says it took; None where it does not say, or nothing that can be."""
    if not isinstance(usage, dict):
        return None
    read, said = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not (isinstance(read, int) and isinstance(said, int) and read > 0 and said >= 0):
        return None
    return Tokens(read, said)
