"""Rulings by people: the sheet that is written for them, and the sheet they give back."""
