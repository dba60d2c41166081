"""Many jobs on one cluster: what each is worth, and who gets executors."""
