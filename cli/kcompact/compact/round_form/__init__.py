"""The form for one round by known bounds: the plain form's passes, the full form's rules."""
