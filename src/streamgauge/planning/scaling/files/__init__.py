"""Files of scaling: the published form of components and their rates."""
