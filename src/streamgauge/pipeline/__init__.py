"""The data pipeline on Spark: raw metrics into the lake, and the lake into profiles."""
