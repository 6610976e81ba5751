"""Results as CI servers read them."""
