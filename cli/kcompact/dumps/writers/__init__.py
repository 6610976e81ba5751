"""Conversion: decoded records written as the plain envelope in another format, one file per target."""
