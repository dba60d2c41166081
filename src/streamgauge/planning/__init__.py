"""From predictions to decisions: where to place, how many, for whom, at what price."""
