"""Textual's driver for a browser, which also ends when nobody is there any more."""

from __future__ import annotations

from contextlib import suppress

from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp


class BrowserDriver(WebDriver):
    """What is drawn goes to the server that began this process, what is typed comes from there."""

    def run_input_thread(self) -> None:
        """Take what is typed; where the server is gone, leave as one does whose terminal was lost."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(ExitApp())

    def write(self, data: str) -> None:
        """Draw, if somebody looks."""
        with suppress(BrokenPipeError):
            super().write(data)

    def write_meta(self, data: dict[str, object]) -> None:
        """Tell the server, if it is there."""
        with suppress(BrokenPipeError):
            super().write_meta(data)
