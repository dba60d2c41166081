"""Layered layout of a directed graph, sources left and sinks right.

The steps are those of Sugiyama, Tagawa and Toda (1981), one module each: break cycles and assign
layers (``layers``), order each layer for few crossings (``crossings``), find coordinates by Brandes
and Köpf (2002) (``coordinates``), then column widths (``columns``) and curves (``routes``);
``layout`` runs them. Everything is a function of its arguments and free of recursion. Lengths are
in whatever unit the boxes use; y grows downwards.
"""
