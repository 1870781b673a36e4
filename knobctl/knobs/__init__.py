"""The knobs: one property of one JSON Schema each, and nothing known of them elsewhere."""

from knobctl.knobs.catalogue import SHIPPED_SCHEMA, Catalogue, load_catalogue
from knobctl.knobs.knob import Knob, KnobType, KnobValue

__all__ = ["SHIPPED_SCHEMA", "Catalogue", "Knob", "KnobType", "KnobValue", "load_catalogue"]
