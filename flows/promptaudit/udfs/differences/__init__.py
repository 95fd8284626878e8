"""Says how far two sides differ, and how far they would where nothing changed: what every verdict on a difference rests on."""
