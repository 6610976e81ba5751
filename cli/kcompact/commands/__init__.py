"""The commands, each as the order of its work: options, work, report, exit code. No rule lives here."""
