"""The Spark session, and dumps to and from DataFrames."""
