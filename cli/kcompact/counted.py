"""Numbers of things in sentences: ``1 record``, ``2,000 records``."""


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """The number and the noun that goes with it; ``plural`` where the plural is more than an s."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
