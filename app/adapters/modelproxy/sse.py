"""Server-sent events, found in bytes as they arrive; where these are cut makes no difference."""


class EventData:
    """The data of each event of one stream; names and ids are not needed.

    An event that is larger than the bound is left out.
    """

    def __init__(self, most_event_bytes: int) -> None:
        self._most_event_bytes = most_event_bytes
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._event_bytes = 0
        self._is_after_return = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that end in this piece of the stream."""
        if self._is_after_return and chunk:  # the second half of a line's end
            self._is_after_return = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        self._is_after_return = chunk.endswith(b"\r")
        found: list[bytes] = []
        for piece in chunk.splitlines(keepends=True):
            words = piece.rstrip(b"\r\n")
            if words:
                self._event_bytes += len(words)
                if self._event_bytes > self._most_event_bytes:
                    self._data.clear()
                    self._line = [b":"]  # a comment: whatever the line was, it is not read
                else:
                    self._line.append(words)
            if len(words) < len(piece):
                found.extend(self._ended_line())
        return found

    def rest(self) -> list[bytes]:
        """What has come of an event that the end of the stream cut off."""
        return [*self._ended_line(), *self._ended_line()]

    def _ended_line(self) -> list[bytes]:
        line = b"".join(self._line)
        self._line.clear()
        if line:
            name, _, value = line.partition(b":")
            if name == b"data" and self._event_bytes <= self._most_event_bytes:
                self._data.append(value.removeprefix(b" "))
            return []
        found = [b"\n".join(self._data)] if self._data else []
        self._data.clear()
        self._event_bytes = 0
        return found
