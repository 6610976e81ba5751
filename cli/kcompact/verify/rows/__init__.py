"""Records of both dumps side by side, key by key."""
