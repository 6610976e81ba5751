"""What a dump holds: one question a file. Key rows in, small report values out; nothing is judged twice."""
