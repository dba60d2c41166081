"""Engines that run jobs and are measured: one package each, the emulator among them."""
