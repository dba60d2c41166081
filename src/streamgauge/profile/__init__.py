"""How operators behave: declared by people, or measured."""
