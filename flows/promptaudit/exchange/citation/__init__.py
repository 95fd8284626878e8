"""A run as a paper cites it: a methods paragraph, and a folder of its cards, data, prompts and answers that verifies anywhere."""
