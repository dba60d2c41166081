"""Which machines to buy, and what runs where: instances packed onto machine types with prices."""
