"""JSON dumps: lines, arrays, objects, records inside one object."""
