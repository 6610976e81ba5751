"""The output stage: decided rows become copied survivors, lists of removed keys and gaps, and figures."""
