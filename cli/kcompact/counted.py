"""Numbers of things in sentences: ``1 record``, ``2,000 records``."""


def counted(count: int, one: str, many: str | None = None) -> str:
    """The number and the noun that goes with it; ``many`` where the plural is more than an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
