"""How engines move tuples: data and pure rules, one module per engine."""
