"""What schemathesis 4.32.5 reads wrongly, mended; nothing is left out.

It tells a breach in a header from a header that nobody documents, which every HTTP server takes, by comparing the
documented ones with their schemas: as the text that was sent, so that an integer of the right size ("301") counts as a
breach. Read back here as the server reads it, in the place where schemathesis itself reads booleans back.
"""

import re

from schemathesis.specs.openapi import checks

_read_boolean = checks._boolean_from_wire_spelling


def _read_from_wire(value, schema, validator_cls):
    is_integer = isinstance(schema, dict) and schema.get("type") == "integer"
    if is_integer and isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value):
        return int(value)
    return _read_boolean(value, schema, validator_cls)


checks._boolean_from_wire_spelling = _read_from_wire
