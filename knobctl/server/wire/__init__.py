"""The wire's messages: `.proto` files and the code generated from them.

`knobs.proto` derives from the knob schema, the others are written by hand. After a change of
one, `python tests/server/generating.py` writes the code anew; a test proves that it is current.

The messages are those of protobuf-py, not of Google's protobuf: measured on the proto3 JSON mapping,
protobuf-py 0.7 refuses `true`, `"1_0"` and `" 0.3"` for a double, `1.5` and `true` for an enum and a
list for a message, all of which google.protobuf 7.36 takes; connectrpc needs it anyway; and its
code has types. Both take NaN and the infinities as texts, numbers as texts, both spellings of a
name, and drop an unknown name of an enum, which is why `config_json.py` looks at a config first.
"""
