"""An embedder behind an OpenAI-compatible endpoint: POST BASE/embeddings."""

from __future__ import annotations

import json
import threading
import time
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError
from urllib3.util.retry import Retry

from knobctl.errors import UsageError
from knobctl.server.retrieval.embedder import EmbedderUnavailableError
from knobctl.server.store.corpus import EmbedderIdentity
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.server.retrieval.embedder import Vectors

TEXTS_A_CALL: Final = 64
LONGEST: Final = 384
"""Most tokens of a text, in our tokens: what many served models read is 512 of their own."""
CONNECT_TIMEOUT_S: Final = 5.0
ANSWER_TIMEOUT_S: Final = 30.0
"""For one attempt, from the request to the last byte of its answer."""
LARGEST_ANSWER: Final = 64 << 20
_RETRIES: Final = Retry(
    total=2,
    connect=2,
    read=0,  # a slow endpoint is not asked twice as much
    redirect=0,
    other=0,
    status=2,
    status_forcelist=(429, 502, 503),
    allowed_methods=frozenset({"POST"}),  # embedding changes nothing
    backoff_factor=0.3,
    backoff_max=5,
    retry_after_max=5,
    raise_on_status=False,
)


class Endpoint:
    """One model of one endpoint. A session a thread."""

    longest: Final = LONGEST

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        """Name the endpoint without asking it.

        Args:
            base_url: What stands before `/embeddings`.
            model: As the endpoint calls it.
            key: Sent as a bearer token, never written anywhere.
            monotonic: Seconds that never go back.
            answer_timeout_s: Patience with one answer.

        Raises:
            UsageError: If the URL cannot be used, or would send texts in the clear.
        """
        self._url = f"{_accepted(base_url)}/embeddings"
        self._model = model
        self._key = key
        self._monotonic = monotonic
        self._answer_timeout_s = answer_timeout_s
        self._local = threading.local()
        self._dimensions: int | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """Which model; how long its vectors are is learnt from the first answer.

        Raises:
            EmbedderUnavailableError: If it is not known yet, and the endpoint cannot be asked.
        """
        if self._dimensions is None:
            self.embed(["dimensions"])
        assert self._dimensions is not None
        return EmbedderIdentity(
            model=self._model, revision="", pooling="", dimensions=self._dimensions
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of unit length per text.

        Raises:
            EmbedderUnavailableError: If the endpoint cannot be asked, or answers nonsense.
        """
        import numpy as np

        parts = [
            self._asked(texts[start : start + TEXTS_A_CALL])
            for start in range(0, len(texts), TEXTS_A_CALL)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self._dimensions or 0), np.float32)

    def _asked(self, texts: Sequence[str]) -> Vectors:
        from knobctl.server.retrieval.vectors import unit_vectors

        rows = _rows(self._answer(texts), len(texts))
        vectors = unit_vectors(rows, texts=len(texts), dimensions=self._dimensions)
        self._dimensions = vectors.shape[1]
        return vectors

    def _answer(self, texts: Sequence[str]) -> Any:  # noqa: ANN401  any JSON
        asked = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        deadline = self._monotonic() + self._answer_timeout_s
        try:
            with self._session().post(
                self._url,
                data=json.dumps(asked).encode(),
                headers={"Content-Type": "application/json", "Accept": "application/json"}
                | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
                timeout=(CONNECT_TIMEOUT_S, self._answer_timeout_s),
                allow_redirects=False,
                stream=True,
            ) as response:
                body = self._body(response, deadline)
                status = response.status_code
        except requests.RequestException as error:
            raise EmbedderUnavailableError(
                f"{self._url} cannot be asked: {type(error).__name__}"
            ) from error
        if status != 200:
            raise EmbedderUnavailableError(f"{self._url} answers HTTP {status}{self._said(body)}")
        try:
            return json.loads(body)
        except ValueError as error:
            raise EmbedderUnavailableError(f"{self._url} answers no JSON") from error

    def _body(self, response: requests.Response, deadline: float) -> bytes:
        """Read an answer, to a limit of size and of time."""
        body = bytearray()
        try:
            while part := response.raw.read1(1 << 16, decode_content=True):
                body += part
                if len(body) > LARGEST_ANSWER:
                    raise EmbedderUnavailableError(f"{self._url} answers endlessly")
                if self._monotonic() > deadline:
                    raise EmbedderUnavailableError(f"{self._url} drips its answer for too long")
        except (HTTPError, OSError) as error:
            raise EmbedderUnavailableError(f"{self._url} broke off its answer") from error
        return bytes(body)

    def _said(self, body: bytes) -> str:
        """What an endpoint says of its refusal, made safe, without the key that it may repeat."""
        said = " ".join(body[:2000].decode("utf-8", "replace").split())
        if self._key:
            said = said.replace(self._key, "(key)")
        return f": {visible(said[:200])}" if said else ""

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = requests.Session()
            session.trust_env = False  # no netrc in place of the key, no proxy that nobody named
            for scheme in ("https://", "http://"):
                session.mount(scheme, HTTPAdapter(max_retries=_RETRIES, pool_maxsize=1))
        return session


def _accepted(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        host = ""
    else:
        if parts.username or parts.password or parts.query or parts.fragment:
            raise UsageError("the embedder's URL must hold no user, password or query")
        if host and (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))):
            return url.rstrip("/")
        if host and parts.scheme == "http":
            raise UsageError(
                f"the embedder at http://{visible(host)} would get the texts and the key in the clear",
                hint="use https://; plain http:// is for loopback",
            )
    raise UsageError(
        f"{visible(url)!r} is no URL of an embedder", hint="openai:https://HOST/v1#MODEL"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _rows(answer: Any, texts: int) -> list[Any]:  # noqa: ANN401  any JSON
    """The vectors of an answer in the order of the texts: each says which text it is of."""
    try:
        found = {row["index"]: row["embedding"] for row in answer["data"]}
        return [found[number] for number in range(texts)]
    except (TypeError, KeyError) as error:
        raise EmbedderUnavailableError(
            f"the answer holds no embedding for each of {texts} texts"
        ) from error
