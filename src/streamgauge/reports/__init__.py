"""What a result says, once: verdict, tables and charts as data, and three renderers of them."""
