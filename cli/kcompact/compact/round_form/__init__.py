"""The form for rounds by known bounds: the plain form's passes, the full form's rules."""
