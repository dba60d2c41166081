"""Policies, a module each: published autoscalers, and one that predicts."""
