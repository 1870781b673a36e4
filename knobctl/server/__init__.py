"""The reference engine: knobs, retrieval, their stores, and the wire."""

import logging

# Who runs the engine says where its log goes; inside a command it would stand between the lines of an answer.
logging.getLogger(__name__).addHandler(logging.NullHandler())
