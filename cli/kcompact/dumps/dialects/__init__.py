"""The dialects: data about how each tool's dump is to be read."""
