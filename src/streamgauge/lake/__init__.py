"""The metric tables: what is measured, in which form it travels, and how it is kept."""
