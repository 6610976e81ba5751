"""How dirty logs are, and what a cleaning would bring."""
